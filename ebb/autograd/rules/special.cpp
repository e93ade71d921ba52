// ebb/autograd/rules/special.cpp -- gradient rules of special functions.
#include "ebb/autograd/rules/special.h"

#include <cmath>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/logical_or.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/sinc.h"
#include "ebb/autograd/ops/where.h"

namespace ebb::autograd::rules {

Tensor product_with_log_grad(const Tensor& grad, const Tensor& input, double log, bool is_at_pole) {
  const Tensor slope = grad * log;
  if (std::isfinite(log)) return slope;
  const Tensor is_zero = eq(grad, 0);
  return where(is_at_pole ? logical_or(eq(input, 0), is_zero) : is_zero, 0, slope);
}

Tensor sinc_curve(const Tensor& grad, const Tensor& input, const Tensor& slope) {
  constexpr double kPiSquared = 9.869604401089358;
  const Tensor curve = sinc(input) * -kPiSquared - div(slope, input) * 2;
  return mul0(grad, conj(where(eq(input, 0), -kPiSquared / 3, curve)));
}

Tensor refused_first_gradient(const Tensor&, const char* op) {
  throw NotImplementedError(str(op, ": the derivative to `input` is not implemented, only that to ",
                                "`other`\nhint: detach `input` first"));
}

}  // namespace ebb::autograd::rules
