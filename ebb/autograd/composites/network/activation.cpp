// ebb/autograd/composites/network/activation.cpp -- activation functions that check an option or a
// shape before they call others.
#include "ebb/autograd/operands/activation.h"

#include <cmath>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/celu.h"
#include "ebb/autograd/ops/chunk.h"
#include "ebb/autograd/ops/clamp_between.h"
#include "ebb/autograd/ops/elu.h"
#include "ebb/autograd/ops/glu.h"
#include "ebb/autograd/ops/glu_halves.h"
#include "ebb/autograd/ops/hardtanh.h"
#include "ebb/autograd/ops/prelu.h"
#include "ebb/autograd/ops/relu.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sigmoid.h"
#include "ebb/autograd/ops/softshrink.h"
#include "ebb/autograd/ops/softsign.h"
#include "ebb/autograd/ops/softsign_real.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb {

namespace {

/// A bound of integers: cut to what their dtype holds, as it is cut to an integer.
Scalar integer_bound(const Scalar& bound, DType dtype) {
  const double limit =
      std::ldexp(1.0, static_cast<int>(8 * item_size(dtype)) - (dtype == DType::uint8 ? 0 : 1));
  const double lowest = dtype == DType::uint8 ? 0 : -limit;
  const double number = bound.to_double();
  if (std::isnan(number)) return Scalar(0);
  if (number <= lowest) return Scalar(static_cast<int64_t>(lowest));
  if (number < limit) return Scalar(bound.to_int());
  return Scalar(static_cast<int64_t>(limit / 2) - 1 + static_cast<int64_t>(limit / 2));
}

}  // namespace

Tensor hardtanh(const Tensor& input, const Scalar& min_val, const Scalar& max_val) {
  const autograd::operands::hardtanh call(input);
  const DType dtype = input.dtype();
  if (is_floating(dtype)) return clamp_between(input, min_val, max_val);
  return clamp_between(input, integer_bound(min_val, dtype), integer_bound(max_val, dtype));
}

const Tensor& hardtanh_(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  const autograd::operands::hardtanh_inplace call(self);
  const DType dtype = self.dtype();
  if (is_floating(dtype)) return clamp_between_(self, min_val, max_val);
  return clamp_between_(self, integer_bound(min_val, dtype), integer_bound(max_val, dtype));
}

Tensor softsign(const Tensor& input) {
  const autograd::operands::softsign call(input);
  const Tensor x = autograd::in_default_dtype(input);
  return is_complex(x.dtype()) ? x / (abs(x) + 1) : softsign_real(x);
}

Tensor celu(const Tensor& input, double alpha) {
  const autograd::operands::celu call(input);
  if (alpha == 0) throw ValueError("celu: needs alpha other than 0, got 0");
  return elu(input / alpha) * alpha;
}

Tensor glu(const Tensor& input, int64_t dim) {
  const autograd::operands::glu call(input);
  const int ndim = input.ndim();
  if (dim < -ndim || dim >= ndim) {
    throw IndexError(str("glu: needs a dim of the input of ", ndim, " dims, got ", dim));
  }
  const int64_t size = input.size(dim);
  if (size % 2 != 0) {
    throw ShapeError(str("glu: needs an even size along dim ", dim, ", got ", size));
  }
  const std::vector<Tensor> halves = chunk(input, 2, dim);
  const Tensor &x = halves[0], &gate = halves[1];
  return is_complex(input.dtype()) ? x * sigmoid(gate) : glu_halves(x, gate);
}

Tensor prelu(const Tensor& input, const Tensor& weight) {
  const autograd::operands::prelu call(input, weight);
  Shape shape;  // of the weight: one number, or one along dim 1
  if (weight.numel() != 1) {
    const int64_t channels = input.ndim() > 1 ? input.size(1) : 1;
    if (weight.ndim() != 1 || weight.numel() != channels) {
      throw ShapeError(str("prelu: needs a weight of shape [1] or [", channels,
                           "] for the input's channels, got ", describe_shape(weight)));
    }
    shape = Shape{1, channels};
    while (shape.ndim() < input.ndim()) shape.push_back(1);
  }
  // What is above 0 stays out of the product: it may be infinite.
  const Tensor is_above = input > 0;
  return where(is_above, input, reshape(weight, shape) * where(is_above, 0, input));
}

Tensor softshrink(const Tensor& input, double lambd) {
  const autograd::operands::softshrink call(input);
  if (!(lambd >= 0)) throw ValueError(str("softshrink: needs lambd >= 0, got ", lambd));
  return relu(input - lambd) - relu(-input - lambd);
}

}  // namespace ebb
