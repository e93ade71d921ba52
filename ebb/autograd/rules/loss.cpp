// ebb/autograd/rules/loss.cpp -- gradients of log_softmax and of its gradient.
#include "ebb/autograd/ops.h"
#include "ebb/autograd/rules/rules.h"

namespace ebb::autograd::rules {

Tensor log_softmax_jvp(const Tensor& tangent, const Tensor& out, int64_t dim) {
  const int64_t dims[] = {dim};
  return sub(tangent, sum(mul(exp(out), tangent), IntSpan(dims), true));
}

Tensor log_softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                     int64_t dim) {
  const int64_t dims[] = {dim};
  return neg(mul(mul(grad_grad, exp(out)), sum(grad, IntSpan(dims), true)));
}

}  // namespace ebb::autograd::rules
