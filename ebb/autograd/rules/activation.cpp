// ebb/autograd/rules/activation.cpp -- second derivatives of activation functions, and gelu, which
// chooses among ops.
//
// The first derivatives are kernels of their own (ops/pointwise/activation.yaml); these
// are only reached by gradients of gradients.
#include "ebb/autograd/rules/activation.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/gelu.h"
#include "ebb/autograd/ops/gelu_erf.h"
#include "ebb/autograd/ops/gelu_tanh.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/sigmoid.h"
#include "ebb/autograd/ops/softplus.h"
#include "ebb/autograd/ops/square.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/quotes.h"

namespace ebb::autograd::rules {
namespace {

constexpr double kTwoRoot = 2 * 0.7978845608028654;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715;

}  // namespace

Tensor silu_second(const Tensor& weight, const Tensor& input) {
  const Tensor s = sigmoid(input);
  const Tensor inner = input * (1 - s * 2) + 2;
  return mul0(weight, conj(s * (1 - s) * inner));
}

Tensor gelu_erf_second(const Tensor& weight, const Tensor& input) {
  const Tensor squared = square(input);
  const Tensor density = exp(squared * -0.5) * 0.3989422804014327;
  return mul0(weight, density * (2 - squared));
}

/// gelu is x g(w(x)) with g = sigmoid, w(x) = 2 sqrt(2 / pi) (x + 0.044715 x^3).
Tensor gelu_tanh_second(const Tensor& weight, const Tensor& input) {
  const Tensor squared = square(input);
  const Tensor gate = sigmoid(input * (squared * kCubic + 1) * kTwoRoot);
  const Tensor change = gate * (1 - gate);
  const Tensor slope = (squared * (3 * kCubic) + 1) * kTwoRoot;
  const Tensor bend = (1 - gate * 2) * square(slope) + input * (6 * kCubic * kTwoRoot);
  return mul0(weight, change * (slope * 2 + input * bend));
}

/// mish is x t with t = tanh(softplus(x)), whose slope is u = s (1 - t^2) with s = sigmoid(x), and
/// that has the slope u (1 - s - 2 s t).
Tensor mish_second(const Tensor& weight, const Tensor& input) {
  const Tensor s = sigmoid(input), t = tanh(softplus(input));
  const Tensor steep = s * (1 - square(t));
  return mul0(weight, steep * (2 + input * (1 - s - s * t * 2)));
}

Tensor softplus_grad(const Tensor& grad, const Tensor& input, const Scalar& beta,
                     const Scalar& threshold) {
  const Tensor scaled = mul(input, beta);
  return where(greater(scaled, threshold), grad, mul0(grad, sigmoid(scaled)));
}

}  // namespace ebb::autograd::rules

namespace ebb {

Tensor gelu(const Tensor& input, std::string_view approximate) {
  const autograd::CompositeCall call("gelu", __builtin_return_address(0));
  if (approximate == "none") return gelu_erf(input);
  if (approximate == "tanh") return gelu_tanh(input);
  throw ValueError(str("gelu: approximate must be 'none' or 'tanh', got ", in_quotes(approximate)));
}

}  // namespace ebb
