// ebb/ops/check.h -- the checks that the op table can declare, called by generated code.
//
// Each throws before any memory is touched and names op and operand. The tests are inline and
// cheap; the throwing is not.
#pragma once

#include <span>

#include "ebb/core/tensor/tensor.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb::ops::check {

[[noreturn]] EBB_API void throw_operand(const char* op, const char* name, const Tensor& tensor,
                                        uint32_t accepted);
[[noreturn]] EBB_API void throw_devices(const char* op, const Tensor& input, const Tensor& other);

/// A defined tensor of one of the dtypes in the mask.
inline void operand(const char* op, const char* name, const Tensor& tensor, uint32_t accepted) {
  const TensorImpl* const impl = tensor.impl();
  const bool is_good = impl != nullptr && (accepted >> static_cast<int>(impl->dtype) & 1u) != 0;
  if (!is_good) [[unlikely]]
    throw_operand(op, name, tensor, accepted);
}
inline void optional_operand(const char* op, const char* name, const Tensor& tensor,
                             uint32_t accepted) {
  if (tensor.defined()) operand(op, name, tensor, accepted);
}
/// Every element of a list, which messages call tensors[2].
EBB_API void list(const char* op, const char* name, std::span<const Tensor> tensors,
                  uint32_t accepted);
inline void same_device(const char* op, const Tensor& input, const Tensor& other) {
  if (other.defined() && other.impl()->device != input.impl()->device)
    throw_devices(op, input, other);
}

inline void rank(const char* op, const char* name, const Tensor& tensor, int ndim) {
  if (tensor.ndim() != ndim) infer::check_ndim(op, name, tensor, ndim, ndim);
}
inline void min_rank(const char* op, const char* name, const Tensor& tensor, int ndim) {
  if (tensor.ndim() < ndim) infer::check_ndim(op, name, tensor, ndim, kMaxDims);
}
inline void max_rank(const char* op, const char* name, const Tensor& tensor, int ndim) {
  if (tensor.ndim() > ndim) infer::check_ndim(op, name, tensor, 0, ndim);
}
/// A dim of `tensor`, which may count from the back.
inline void dim(const char* op, int64_t dim, const char*, const Tensor& tensor) {
  normalize_dim(op, dim, tensor);
}
/// Every element of `index` (int64) counts an element of `input` along `dim`.
EBB_API void in_range(const char* op, const char* name, const Tensor& index, const char* input_name,
                      const Tensor& input, int64_t dim);
inline void same_dtype(const char* op, const char* name, const Tensor& tensor,
                       const char* other_name, const Tensor& other) {
  if (other.defined() && other.impl()->dtype != tensor.impl()->dtype) {
    infer::check_same_dtype(op, name, tensor, other_name, other);
  }
}
/// Whether the dtype of `input` holds numbers of the kind of `value`.
EBB_API bool is_kind_of(const Tensor& input, const Scalar& value);
/// `value` as fill_() would write it: without its fraction for integers, true or false for bool.
/// Throws ValueError if an integer has no room for it, or a real number for its imaginary part.
EBB_API Scalar converted(const char* op, const Tensor& input, const Scalar& value);
/// A tensor to be written into another is of a kind that its dtype holds: no fraction for integers,
/// no imaginary part for real numbers.
EBB_API void holds(const char* op, const char* input_name, const Tensor& input,
                   const char* value_name, const Tensor& value);
/// No negative power of integers.
EBB_API void integer_power(const char* op, const char* input_name, const Tensor& input,
                           const Scalar& exponent);
/// No 0 divides integers by integers; looks at all elements then.
EBB_API void no_zero_divisor(const char* op, const char* input_name, const Tensor& input,
                             const char* other_name, const Tensor& other);
EBB_API void no_zero_divisor(const char* op, const char* input_name, const Tensor& input,
                             const Scalar& other);
EBB_API void no_zero_divisor(const char* op, const Scalar& input, const char* other_name,
                             const Tensor& other);
EBB_API void not_empty(const char* op, const char* name, std::span<const Tensor> tensors);

}  // namespace ebb::ops::check
