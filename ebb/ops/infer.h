// ebb/ops/infer.h -- shape rules and checks that several op bodies share.
//
// Every function throws before any memory is touched, names `op` and prints what it got. Names of
// operands are those of the op table.
#pragma once

#include <optional>
#include <span>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::infer {

/// A set of dims, one bit each.
using DimMask = uint32_t;
static_assert(kMaxDims <= 32);

/// The dims of a reduction; none given, or an empty list, means all. Throws IndexError for a dim
/// out of range, ValueError for one that is given twice.
EBB_API DimMask dim_mask(const char* op, std::optional<IntSpan> dim, int ndim);
/// The same for the dims of `input`, which the errors describe.
EBB_API DimMask dim_mask(const char* op, std::optional<IntSpan> dim, const Tensor& input);

/// `tensor` as it is printed in errors: "float32 [2, 3]", with its name if it has one.
EBB_API std::string describe(const Tensor& tensor);

[[noreturn]] EBB_API void throw_undefined(const char* op, const char* name);
/// Throws ValueError for no tensor at all.
inline void check_defined(const char* op, const char* name, const Tensor& tensor) {
  if (!tensor.defined()) [[unlikely]]
    throw_undefined(op, name);
}
/// Throws ShapeError unless min <= ndim <= max, ValueError for no tensor at all.
EBB_API void check_ndim(const char* op, const char* name, const Tensor& tensor, int min, int max);
/// Throws DTypeError unless both have one dtype.
EBB_API void check_same_dtype(const char* op, const char* name, const Tensor& tensor,
                              const char* other_name, const Tensor& other);
/// Throws ShapeError unless it has the shape of the op's input.
EBB_API void check_same_shape(const char* op, const char* name, const Tensor& tensor,
                              const Tensor& input);
/// Throws ShapeError unless there is a `grad` that has the sizes of the result that it belongs to.
EBB_API void check_result_grad(const char* op, const Tensor& grad, const Shape& result);
/// Throws ValueError unless p, the argument of that name, is from 0 to 1.
EBB_API void check_probability(const char* op, double p);
/// Throws ValueError unless both live on one device.
EBB_API void check_same_device(const char* op, const Tensor& input, const Tensor& other);
/// Throws ShapeError, ValueError for no tensor at all or DTypeError unless a result of `shape` and
/// `dtype` can be written to `out`, which is never resized.
EBB_API void check_out(const char* op, IntSpan shape, DType dtype, const Tensor& out);
/// Throws DTypeError unless it is int32 or int64.
EBB_API void check_index_dtype(const char* op, const char* name, const Tensor& index);
/// Sizes with at most one -1 solved, for a tensor of `numel` elements. Throws ShapeError.
EBB_API Shape reshaped(const char* op, const Tensor& input, IntSpan shape);

}  // namespace ebb::ops::infer
