// ebb/nn/pooling.cpp -- pools: options are kept here, the arithmetic is in the ops.
#include "ebb/nn/pooling.h"

#include "ebb/autograd/ops.h"

namespace ebb::nn {

Tensor MaxPool2d::forward(const Tensor& input) {
  return max_pool2d(input, kernel_size_, options_.stride.value_or(kernel_size_), options_.padding,
                    options_.dilation, options_.ceil_mode);
}

Tensor AvgPool2d::forward(const Tensor& input) {
  return avg_pool2d(input, kernel_size_, options_.stride.value_or(kernel_size_), options_.padding,
                    options_.ceil_mode, options_.count_include_pad, options_.divisor_override);
}

Tensor AdaptiveAvgPool2d::forward(const Tensor& input) {
  return adaptive_avg_pool2d(input, output_size_);
}

}  // namespace ebb::nn
