// ebb/nn/init.cpp -- starting values of parameters.
#include "ebb/nn/init.h"

#include <algorithm>
#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/argsort.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::nn::init {
namespace {

void check_min_dims(const char* op, const Tensor& tensor) {
  if (tensor.ndim() < 2) {
    throw ShapeError(str(op, ": needs a tensor of at least 2 dims, got shape ", tensor.shape()));
  }
}

/// What xavier_*_() divide by.
double both_fans(const char* op, const Tensor& tensor) {
  check_min_dims(op, tensor);
  return static_cast<double>(fan_in(tensor) + fan_out(tensor));
}

/// The deviation of kaiming_*_(), 0 for an empty tensor.
double kaiming_deviation(const char* op, const Tensor& tensor, double a, FanMode mode,
                         Nonlinearity nonlinearity) {
  check_min_dims(op, tensor);
  if (tensor.numel() == 0) return 0;
  const int64_t fan = mode == FanMode::fan_in ? fan_in(tensor) : fan_out(tensor);
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan));
}

}  // namespace

const Tensor& uniform_(const Tensor& tensor, double low, double high) {
  const NoGradGuard no_grad;
  if (is_meta(tensor)) return fill_(tensor, 0);  // no number is drawn
  copy_(tensor, add(mul(rand(tensor.sizes(), tensor.dtype()), high - low), low));
  return tensor;
}

const Tensor& normal_(const Tensor& tensor, double mean, double std) {
  const NoGradGuard no_grad;
  if (is_meta(tensor)) return fill_(tensor, 0);
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

const Tensor& dirac_(const Tensor& tensor, int64_t groups) {
  if (tensor.ndim() < 3 || tensor.ndim() > 5) {
    throw ShapeError(str("dirac_: needs a tensor of 3 to 5 dims, got shape ", tensor.shape()));
  }
  if (groups < 1 || tensor.size(0) % groups != 0) {
    throw ValueError(
        str("dirac_: needs groups that divide the first size ", tensor.size(0), ", got ", groups));
  }
  const NoGradGuard no_grad;
  zeros_(tensor);
  const int64_t per_group = tensor.size(0) / groups;
  const int64_t count = std::min(per_group, tensor.size(1));
  for (int64_t i = 0; i < groups * count; ++i) {
    Tensor tap = select(select(tensor, 0, i / count * per_group + i % count), 0, i % count);
    while (tap.ndim() > 0) tap = select(tap, 0, tap.size(0) / 2);
    fill_(tap, 1);
  }
  return tensor;
}

const Tensor& sparse_(const Tensor& tensor, double sparsity, double std) {
  if (tensor.ndim() != 2) {
    throw ShapeError(str("sparse_: needs a tensor of 2 dims, got shape ", tensor.shape()));
  }
  if (!(sparsity >= 0 && sparsity <= 1)) {
    throw ValueError(str("sparse_: needs 0 <= sparsity <= 1, got ", sparsity));
  }
  const auto zeros =
      static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(tensor.size(0))));
  init::normal_(tensor, 0.0, std);
  if (is_meta(tensor)) return tensor;
  const NoGradGuard no_grad;
  const Tensor order = argsort(rand(tensor.sizes(), DType::float64, Device{}), 0);
  scatter_(tensor, 0, narrow(order, 0, 0, zeros), 0);
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

Nonlinearity nonlinearity_of(const char* op, std::string_view name) {
  if (name == "leaky_relu") return Nonlinearity::leaky_relu;
  if (name == "relu") return Nonlinearity::relu;
  if (name == "tanh") return Nonlinearity::tanh;
  if (name == "sigmoid") return Nonlinearity::sigmoid;
  if (name == "selu") return Nonlinearity::selu;
  for (const char* linear : {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                             "conv_transpose2d", "conv_transpose3d"}) {
    if (name == linear) return Nonlinearity::linear;
  }
  throw ValueError(str(op,
                       ": needs nonlinearity linear, conv1d to conv3d, conv_transpose1d to "
                       "conv_transpose3d, sigmoid, tanh, relu, leaky_relu or selu, got ",
                       in_quotes(name)));
}

FanMode fan_mode_of(const char* op, std::string_view name) {
  if (name == "fan_in") return FanMode::fan_in;
  if (name == "fan_out") return FanMode::fan_out;
  throw ValueError(str(op, ": needs mode fan_in or fan_out, got ", in_quotes(name)));
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain) {
  const double fans = both_fans("xavier_uniform_", tensor);
  if (tensor.numel() == 0) return tensor;
  const double bound = gain * std::sqrt(6.0 / fans);
  return init::uniform_(tensor, -bound, bound);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain) {
  const double fans = both_fans("xavier_normal_", tensor);
  if (tensor.numel() == 0) return tensor;
  return init::normal_(tensor, 0.0, gain * std::sqrt(2.0 / fans));
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, FanMode mode,
                               Nonlinearity nonlinearity) {
  const double deviation = kaiming_deviation("kaiming_uniform_", tensor, a, mode, nonlinearity);
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * deviation;
  return init::uniform_(tensor, -bound, bound);
}

const Tensor& kaiming_normal_(const Tensor& tensor, double a, FanMode mode,
                              Nonlinearity nonlinearity) {
  const double deviation = kaiming_deviation("kaiming_normal_", tensor, a, mode, nonlinearity);
  if (tensor.numel() == 0) return tensor;
  return init::normal_(tensor, 0.0, deviation);
}

}  // namespace ebb::nn::init
