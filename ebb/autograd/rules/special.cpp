// ebb/autograd/rules/special.cpp -- gradient rules of special functions.
#include "ebb/autograd/rules/special.h"

#include <cmath>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/sinc.h"
#include "ebb/autograd/ops/where.h"

namespace ebb::autograd::rules {

Tensor xlogy_grad_number(const Tensor& grad, const Scalar& other) {
  return grad * std::log(other.to_double());
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
