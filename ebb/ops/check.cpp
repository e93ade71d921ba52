// ebb/ops/check.cpp -- the throwing halves of the declared checks.
#include "ebb/ops/check.h"

#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/compare.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/reduce.h"

namespace ebb::ops::check {
namespace {

void check_no_zero(const char* op, Kind input, const Tensor& other) {
  if (input > Kind::integer || is_differentiable(other.dtype())) return;
  if (is_meta(other)) return;
  if (sum(eq(other, Scalar(0))).item<int64_t>() == 0) return;
  throw ValueError(
      str(op, ": an integer divisor must not be 0, got one in ", infer::describe(other)));
}

}  // namespace

void throw_operand(const char* op, const char* name, const Tensor& tensor, uint32_t accepted) {
  if (!tensor.defined()) {
    throw ValueError(str(op, ": '", name, "' must be a tensor, got an undefined one"));
  }
  throw_not_accepted(op, name, tensor, accepted);
}

void throw_devices(const char* op, const Tensor& input, const Tensor& other) {
  require_strided(op, "an operand", input);
  require_strided(op, "an operand", other);
  throw ValueError(str(op, ": all operands must be on one device, got ", to_string(input.device()),
                       " and ", to_string(other.device()), "\nhint: move one with to(device)"));
}

void list(const char* op, const char* name, std::span<const Tensor> tensors, uint32_t accepted) {
  for (size_t index = 0; index < tensors.size(); ++index) {
    const Tensor& tensor = tensors[index];
    const bool is_good =
        tensor.defined() && (accepted >> static_cast<int>(tensor.dtype()) & 1u) != 0;
    if (!is_good) throw_operand(op, str(name, '[', index, ']').c_str(), tensor, accepted);
    same_device(op, tensors[0], tensor);
  }
}

void in_range(const char* op, const char* name, const Tensor& index, const char*,
              const Tensor& input, int64_t dim) {
  const int axis = normalize_dim(op, dim, input);
  const int64_t size = input.ndim() == 0 ? 1 : input.sizes()[static_cast<size_t>(axis)];
  check_index_range(op, name, index, size);
}

bool is_kind_of(const Tensor& input, const Scalar& value) {
  return value.kind() <= kind_of(input.dtype());
}
Scalar converted(const char* op, const Tensor& input, const Scalar& value) {
  alignas(16) char element[16];
  value.store_as(input.dtype(), element, op);
  return visit_dtype(input.dtype(), [&]<typename T>(TypeTag<T>) -> Scalar {
    if constexpr (std::is_integral_v<T>) return *reinterpret_cast<const T*>(element);
    return is_complex(input.dtype()) ? Scalar(value.to_complex()) : Scalar(value.to_double());
  });
}
void holds(const char* op, const char*, const Tensor& input, const char*, const Tensor& value) {
  if (kind_of(value.dtype()) <= kind_of(input.dtype())) return;
  throw DTypeError(str(op, ": value must be of a kind that ", input.dtype(), " holds, got ",
                       infer::describe(value)));
}

void integer_power(const char* op, const char*, const Tensor& input, const Scalar& exponent) {
  const bool is_integer = kind_of(input.dtype()) <= Kind::integer;
  if (!is_integer || exponent.kind() > Kind::integer || exponent.to_int() >= 0) return;
  throw ValueError(str(op, ": an integer to a negative power is no integer, got ",
                       infer::describe(input), " and exponent ", exponent,
                       "\nhint: use a floating exponent"));
}

void no_zero_divisor(const char* op, const char*, const Tensor& input, const char*,
                     const Tensor& other) {
  check_no_zero(op, kind_of(input.dtype()), other);
}
void no_zero_divisor(const char* op, const char*, const Tensor& input, const Scalar& other) {
  const bool is_integer = kind_of(input.dtype()) <= Kind::integer;
  if (!is_integer || other.kind() > Kind::integer || other.to_int() != 0) return;
  throw ValueError(str(op, ": an integer divisor must not be 0, got ", other));
}
void no_zero_divisor(const char* op, const Scalar& input, const char*, const Tensor& other) {
  check_no_zero(op, input.kind(), other);
}

void not_empty(const char* op, const char* name, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw ValueError(str(op, ": '", name, "' must not be empty, got no tensor"));
}

}  // namespace ebb::ops::check
