// ebb/nn/init.cpp -- starting values of parameters.
#include "ebb/nn/init.h"

#include <algorithm>
#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops.h"
#include "ebb/core/base/error.h"

namespace ebb::nn::init {
namespace {

double fan_of(const Tensor& tensor, FanMode mode) {
  return static_cast<double>(mode == FanMode::fan_in ? fan_in(tensor) : fan_out(tensor));
}

double both_fans_of(const Tensor& tensor) {
  return static_cast<double>(fan_in(tensor) + fan_out(tensor));
}

void check_min_dims(const char* op, const Tensor& tensor) {
  if (tensor.ndim() < 2) {
    throw ShapeError(str(op, ": needs a tensor of at least 2 dims, got shape ", tensor.shape()));
  }
}

}  // namespace

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

const Tensor& constant_(const Tensor& tensor, double value) {
  const NoGradGuard no_grad;
  return fill_(tensor, value);
}

const Tensor& ones_(const Tensor& tensor) {
  const NoGradGuard no_grad;
  return fill_(tensor, 1);
}

const Tensor& zeros_(const Tensor& tensor) {
  const NoGradGuard no_grad;
  return fill_(tensor, 0);
}

const Tensor& eye_(const Tensor& tensor) {
  if (tensor.ndim() != 2) {
    throw ShapeError(str("eye_: needs a tensor of 2 dims, got shape ", tensor.shape()));
  }
  const NoGradGuard no_grad;
  zeros_(tensor);
  const int64_t count = std::min(tensor.size(0), tensor.size(1));
  for (int64_t i = 0; i < count; ++i) fill_(select(select(tensor, 0, i), 0, i), 1);
  return tensor;
}

int64_t fan_in(const Tensor& tensor) {
  check_min_dims("fan_in", tensor);
  int64_t inputs = 1;
  for (const int64_t size : tensor.sizes().subspan(1)) inputs *= size;
  return inputs;
}

int64_t fan_out(const Tensor& tensor) {
  check_min_dims("fan_out", tensor);
  int64_t outputs = tensor.size(0);
  for (const int64_t size : tensor.sizes().subspan(2)) outputs *= size;
  return outputs;
}

double calculate_gain(Nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
    case Nonlinearity::tanh: return 5.0 / 3.0;
    case Nonlinearity::relu: return std::sqrt(2.0);
    case Nonlinearity::leaky_relu: return std::sqrt(2.0 / (1.0 + slope * slope));
    case Nonlinearity::selu: return 0.75;
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: break;
  }
  return 1.0;
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain) {
  const double fans = both_fans_of(tensor);
  if (tensor.numel() == 0) return tensor;
  const double bound = gain * std::sqrt(6.0 / fans);
  return init::uniform_(tensor, -bound, bound);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain) {
  const double fans = both_fans_of(tensor);
  if (tensor.numel() == 0) return tensor;
  return init::normal_(tensor, 0.0, gain * std::sqrt(2.0 / fans));
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, FanMode mode,
                               Nonlinearity nonlinearity) {
  const double fan = fan_of(tensor, mode);
  if (tensor.numel() == 0) return tensor;
  const double bound = calculate_gain(nonlinearity, a) * std::sqrt(3.0 / fan);
  return init::uniform_(tensor, -bound, bound);
}

const Tensor& kaiming_normal_(const Tensor& tensor, double a, FanMode mode,
                              Nonlinearity nonlinearity) {
  const double fan = fan_of(tensor, mode);
  if (tensor.numel() == 0) return tensor;
  return init::normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / std::sqrt(fan));
}

}  // namespace ebb::nn::init
