// ebb/autograd/composites/arithmetic.cpp -- powers in double precision, whatever the operands are.
#include "ebb/autograd/operands/arithmetic.h"

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/float_power.h"
#include "ebb/autograd/ops/pow.h"

namespace ebb {
namespace {

DType double_dtype(bool is_complex) { return is_complex ? DType::complex128 : DType::float64; }

Tensor in_dtype(const Tensor& operand, DType dtype) {
  return operand.dtype() == dtype ? operand : cast(operand, dtype);
}

bool is_complex_number(const Scalar& number) { return number.kind() == Kind::complex; }

}  // namespace

Tensor float_power(const Tensor& input, const Tensor& exponent) {
  const autograd::operands::float_power call(input, exponent);
  const DType wide = double_dtype(is_complex(input.dtype()) || is_complex(exponent.dtype()));
  return pow(in_dtype(input, wide), in_dtype(exponent, wide));
}

Tensor float_power(const Tensor& input, const Scalar& exponent) {
  const autograd::operands::float_power_TensorScalar call(input);
  const DType wide = double_dtype(is_complex(input.dtype()) || is_complex_number(exponent));
  return pow(in_dtype(input, wide), exponent);
}

Tensor float_power(const Scalar& input, const Tensor& exponent) {
  const autograd::operands::float_power_Scalar call(exponent);
  const DType wide = double_dtype(is_complex_number(input) || is_complex(exponent.dtype()));
  return pow(input, in_dtype(exponent, wide));
}

}  // namespace ebb
