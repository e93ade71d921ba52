// ebb/nn/init.cpp -- starting values, drawn with the recorded ops' plain twins under no_grad.
#include "ebb/nn/init.h"

#include <cmath>

#include "ebb/autograd/grad_mode.h"
#include "ebb/autograd/ops.h"
#include "ebb/core/error.h"

namespace ebb::nn::init {

const Tensor& uniform_(const Tensor& tensor, double low, double high) {
  const NoGradGuard no_grad;
  copy_(tensor, add(mul(rand(tensor.sizes(), tensor.dtype()), high - low), low));
  return tensor;
}

const Tensor& normal_(const Tensor& tensor, double mean, double std) {
  const NoGradGuard no_grad;
  copy_(tensor, add(mul(randn(tensor.sizes(), tensor.dtype()), std), mean));
  return tensor;
}

const Tensor& ones_(const Tensor& tensor) {
  const NoGradGuard no_grad;
  return fill_(tensor, 1);
}

const Tensor& zeros_(const Tensor& tensor) {
  const NoGradGuard no_grad;
  return fill_(tensor, 0);
}

int64_t fan_in(const Tensor& tensor) {
  if (tensor.ndim() < 2) {
    throw ShapeError(str("fan_in: needs a tensor of at least 2 dims, got shape ", tensor.shape()));
  }
  int64_t inputs = 1;
  for (const int64_t size : tensor.sizes().subspan(1)) inputs *= size;
  return inputs;
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a) {
  const int64_t inputs = fan_in(tensor);
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(6.0 / ((1.0 + a * a) * static_cast<double>(inputs)));
  return uniform_(tensor, -bound, bound);
}

}  // namespace ebb::nn::init
