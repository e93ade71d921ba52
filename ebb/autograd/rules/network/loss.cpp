// ebb/autograd/rules/network/loss.cpp -- gradients of softmax and log_softmax, and of those
// gradients.
#include "ebb/autograd/rules/network/loss.h"

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/base/log.h"
#include "ebb/core/base/str.h"

namespace ebb::autograd::rules {

Tensor softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& narrow_grad,
                                 const Tensor& out, int64_t dim) {
  const int64_t dims[] = {dim};
  const Tensor grad = widened(narrow_grad);
  const Tensor total = sum(mul(grad, out), IntSpan(dims), true);
  const Tensor share = sum(mul(widened(grad_grad), out), IntSpan(dims), true);
  return in_blocks([](const Tensor& gg, const Tensor& g, const Tensor& t,
                      const Tensor& s) { return sub(mul(gg, sub(g, t)), mul(g, s)); },
                   grad_grad, grad, total, share);
}

Tensor softmax_backward_out_jvp(const Tensor& tangent, const Tensor& narrow_grad, const Tensor& out,
                                int64_t dim) {
  const int64_t dims[] = {dim};
  const Tensor grad = widened(narrow_grad);
  const Tensor total = sum(mul(grad, out), IntSpan(dims), true);
  const Tensor share = sum(mul(grad, tangent), IntSpan(dims), true);
  return sub(mul(tangent, sub(grad, total)), mul(out, share));
}

Tensor log_softmax_jvp(const Tensor& tangent, const Tensor& out, int64_t dim) {
  const int64_t dims[] = {dim};
  const Tensor total =
      sum(in_blocks([](const Tensor& o, const Tensor& t) { return mul(exp(widened(o)), t); }, out,
                    tangent),
          IntSpan(dims), true);
  return sub(tangent, total);
}

Tensor log_softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                     int64_t dim) {
  const int64_t dims[] = {dim};
  return in_blocks([](const Tensor& gg, const Tensor& o,
                      const Tensor& total) { return neg(mul(mul(gg, exp(widened(o))), total)); },
                   grad_grad, out, sum(widened(grad), IntSpan(dims), true));
}

int64_t implied_dim(const char* op, const Tensor& input, std::optional<int64_t> dim) {
  if (dim) return *dim;
  const int ndim = input.ndim();
  const int64_t implied = ndim == 0 || ndim == 1 || ndim == 3 ? 0 : 1;
  warn(str(op, ": without dim it is along dim ", implied, " of ", ndim,
           " dims, which depends on their number; give dim"));
  return implied;
}

}  // namespace ebb::autograd::rules
