// ebb/autograd/rules/bessel.cpp -- slopes of Bessel functions: see bessel.h.
#include "ebb/autograd/rules/bessel.h"

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/cos.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/i0.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/sign.h"
#include "ebb/autograd/ops/special_bessel_j0.h"
#include "ebb/autograd/ops/special_i0e.h"
#include "ebb/autograd/ops/special_i1e.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/power_series.h"

namespace ebb::autograd::rules {
namespace {

/// (2k + 1) / (2 k! (k + 1)!): the derivative of I1 in powers of x^2 / 4, that of J1 in those of
/// -x^2 / 4.
constexpr double kOrderOne[] = {
    0.5,           0.75,           5.0 / 24,         7.0 / 288,         9.0 / 5760,
    11.0 / 172800, 13.0 / 7257600, 15.0 / 406425600, 17.0 / 29262643200};

/// 2k / (2k + 1)! with changing signs: the derivative of sin(x) / x, over x, in powers of x^2.
constexpr double kSpherical[] = {
    -1.0 / 3,       1.0 / 30,        -1.0 / 840,         1.0 / 45360,
    -1.0 / 3991680, 1.0 / 518918400, -1.0 / 93405312000, 1.0 / 22230464256000};

/// An argument that is used near 0 only, and one that is not used there.
struct Halves {
  Tensor is_near, near, far;

  explicit Halves(const Tensor& input)
      : is_near(less(abs(input), 0.5)),
        near(where(is_near, input, 0)),
        far(where(is_near, 1, input)) {}
};

Tensor order_one(const Tensor& input, double sign) {
  return power_series(mul(mul(input, input), sign / 4), kOrderOne);
}

}  // namespace

Tensor i1_slope(const Tensor& input, const Tensor& out) {
  const Halves x(input);
  return where(x.is_near, order_one(x.near, 1), i0(input) - div(out, x.far));
}

Tensor i1e_slope(const Tensor& input) {
  // Once more: the second derivative is a difference, for which a rounded result is too little.
  const Tensor out = special_i1e(input);
  const Halves x(input);
  const Tensor near = mul(order_one(x.near, 1), exp(neg(abs(input))));
  const Tensor far = special_i0e(input) - div(out, x.far);
  return where(x.is_near, near, far) - mul(out, sign(input));
}

Tensor j1_slope(const Tensor& input, const Tensor& out) {
  const Halves x(input);
  return where(x.is_near, order_one(x.near, -1), special_bessel_j0(input) - div(out, x.far));
}

Tensor spherical_j0_slope(const Tensor& input, const Tensor& out) {
  const Halves x(input);
  const Tensor near = mul(x.near, power_series(mul(x.near, x.near), kSpherical));
  return where(x.is_near, near, div(cos(input) - out, x.far));
}

}  // namespace ebb::autograd::rules
