// ebb/autograd/rules/loss.cpp -- gradients of softmax and log_softmax, and of those gradients.
#include "ebb/autograd/rules/loss.h"

#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"

namespace ebb::autograd::rules {

Tensor softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                 int64_t dim) {
  const int64_t dims[] = {dim};
  const Tensor centred = sub(grad, sum(mul(grad, out), IntSpan(dims), true));
  const Tensor share = sum(mul(grad_grad, out), IntSpan(dims), true);
  return sub(mul(grad_grad, centred), mul(grad, share));
}

Tensor softmax_backward_out_jvp(const Tensor& tangent, const Tensor& grad, const Tensor& out,
                                int64_t dim) {
  const int64_t dims[] = {dim};
  const Tensor centred = sub(grad, sum(mul(grad, out), IntSpan(dims), true));
  return sub(mul(tangent, centred), mul(out, sum(mul(grad, tangent), IntSpan(dims), true)));
}

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
