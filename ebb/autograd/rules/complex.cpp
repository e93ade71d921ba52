// ebb/autograd/rules/complex.cpp -- gradients of complex numbers taken apart, and the angle.
#include "ebb/autograd/rules/complex.h"

#include <complex>
#include <numbers>

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/angle.h"
#include "ebb/autograd/ops/angle_of_complex.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/imag.h"
#include "ebb/autograd/ops/isnan.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/reciprocal.h"
#include "ebb/autograd/ops/sign_of_complex.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/watch/composite_call.h"

namespace ebb::autograd::rules {
namespace {

const std::complex<double> kImaginaryUnit(0, 1);

/// `tensor` over the length of `input`; 0 where either is 0.
Tensor over_length(const Tensor& tensor, const Tensor& input) {
  const Tensor length = abs(input);
  const Tensor is_zero = eq(length, 0);
  return where(is_zero, 0, mul0(tensor, reciprocal(where(is_zero, 1, length))));
}

}  // namespace

Tensor as_real_part(const Tensor& parts) { return cast(parts, complex_type_of(parts.dtype())); }

Tensor as_imag_part(const Tensor& parts) { return mul(parts, Scalar(kImaginaryUnit)); }

Tensor imag_of(const Tensor& input) { return imag(input); }

Tensor turning(const Tensor& input) {
  return over_length(mul(sign_of_complex(input), Scalar(kImaginaryUnit)), input);
}

Tensor sign_grad(const Tensor& grad, const Tensor& input) {
  const Tensor sign = sign_of_complex(input);
  const Tensor along = mul0(real(mul0(grad, conj(sign))), sign);
  return over_length(sub(grad, along), input);
}

}  // namespace ebb::autograd::rules

namespace ebb {

Tensor angle(const Tensor& input) {
  const autograd::CompositeCall call("angle", __builtin_return_address(0));
  if (is_complex(input.dtype())) return angle_of_complex(input);
  const auto turned = [](const Tensor& x) {
    const Tensor number = is_floating(x.dtype()) ? x : cast(x, default_dtype());
    const Tensor half_turn = mul(cast(less(number, 0), number.dtype()), std::numbers::pi);
    return where(isnan(number), number, half_turn);
  };
  return autograd::in_blocks(turned, input);
}

}  // namespace ebb
