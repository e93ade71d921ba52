// ebb/nn/convolution.cpp -- convolutions: parameters are drawn here, the arithmetic is in the ops.
#include "ebb/nn/convolution.h"

#include <cmath>

#include "ebb/autograd/ops/conv2d.h"
#include "ebb/autograd/ops/conv_transpose2d.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/init.h"

namespace ebb::nn {
namespace {

void check_sizes(const char* layer, int64_t in_channels, int64_t out_channels, IntSpan kernel,
                 int64_t groups) {
  const bool is_good = in_channels >= 1 && out_channels >= 1 && kernel[0] >= 1 && kernel[1] >= 1;
  if (!is_good) {
    throw ValueError(str(layer, ": needs sizes of at least 1, got in_channels ", in_channels,
                         ", out_channels ", out_channels, " and kernel_size ", PrintShape{kernel}));
  }
  if (groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0) return;
  throw ValueError(str(layer, ": needs channels that groups divide, got in_channels ", in_channels,
                       ", out_channels ", out_channels, " and groups ", groups));
}

/// A weight [first, second, kernel...], drawn.
Tensor drawn_weight(int64_t first, int64_t second, IntSpan kernel, DType dtype) {
  const Tensor weight = ebb::empty(Shape{first, second, kernel[0], kernel[1]}, dtype);
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  return weight;
}

Tensor drawn_bias(int64_t channels, const Tensor& weight) {
  const Tensor bias = ebb::empty(Shape{channels}, weight.dtype());
  const double bound = 1.0 / std::sqrt(static_cast<double>(init::fan_in(weight)));
  init::uniform_(bias, -bound, bound);
  return bias;
}

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size, Conv2dOptions options)
    : options_(options) {
  check_sizes("Conv2d", in_channels, out_channels, kernel_size, options.groups);
  weight = register_parameter("weight", drawn_weight(out_channels, in_channels / options.groups,
                                                     kernel_size, options.dtype));
  if (options.bias) bias = register_parameter("bias", drawn_bias(out_channels, weight));
}

Tensor Conv2d::forward(const Tensor& input) {
  return conv2d(input, weight, bias, options_.stride, options_.padding, options_.dilation,
                options_.groups);
}

ConvTranspose2d::ConvTranspose2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
                                 ConvTranspose2dOptions options)
    : options_(options) {
  check_sizes("ConvTranspose2d", in_channels, out_channels, kernel_size, options.groups);
  weight = register_parameter("weight", drawn_weight(in_channels, out_channels / options.groups,
                                                     kernel_size, options.dtype));
  if (options.bias) bias = register_parameter("bias", drawn_bias(out_channels, weight));
}

Tensor ConvTranspose2d::forward(const Tensor& input) {
  return conv_transpose2d(input, weight, bias, options_.stride, options_.padding,
                          options_.output_padding, options_.groups, options_.dilation);
}

}  // namespace ebb::nn
