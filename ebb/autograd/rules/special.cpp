// ebb/autograd/rules/special.cpp -- gradient rules of special functions.
#include "ebb/autograd/rules/special.h"

#include <cmath>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/logical_or.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/sinc.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/power_series.h"

namespace ebb::autograd::rules {
namespace {

/// 2k (2k - 1) / (2k + 1)! with changing signs: the second derivative of sin(x) / x in powers of
/// x^2.
constexpr double kSphericalCurve[] = {-1.0 / 3,
                                      1.0 / 10,
                                      -1.0 / 168,
                                      1.0 / 6480,
                                      -1.0 / 443520,
                                      1.0 / 47174400,
                                      -1.0 / 7185024000,
                                      1.0 / 1482030950400,
                                      -1.0 / 397533007872000};

}  // namespace

Tensor product_with_log_grad(const Tensor& grad, const Tensor& input, double log, bool is_at_pole) {
  const Tensor slope = grad * log;
  if (std::isfinite(log)) return slope;
  const Tensor is_zero = eq(grad, 0);
  return where(is_at_pole ? logical_or(eq(input, 0), is_zero) : is_zero, 0, slope);
}

Tensor sinc_curve(const Tensor& grad, const Tensor& input, const Tensor& slope) {
  constexpr double kPiSquared = 9.869604401089358;
  const Tensor is_near = less(abs(input), 0.25);
  const Tensor far = sinc(input) * -kPiSquared - div(slope, where(is_near, 1, input)) * 2;
  const Tensor small = where(is_near, input, 0);
  const Tensor near = power_series(small * small * kPiSquared, kSphericalCurve) * kPiSquared;
  return mul0(grad, conj(where(is_near, near, far)));
}

}  // namespace ebb::autograd::rules
