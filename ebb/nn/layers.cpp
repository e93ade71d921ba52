// ebb/nn/layers.cpp -- layers: parameters are drawn here, the arithmetic is in the ops.
#include "ebb/nn/layers.h"

#include <cmath>

#include "ebb/autograd/ops.h"
#include "ebb/core/error.h"
#include "ebb/nn/init.h"

namespace ebb::nn {

Linear::Linear(int64_t in_features, int64_t out_features, bool with_bias, DType dtype) {
  if (in_features < 0 || out_features < 0) {
    throw ValueError(str("Linear: needs sizes >= 0, got ", in_features, " and ", out_features));
  }
  weight = ebb::empty(Shape{out_features, in_features}, dtype);
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  weight = register_parameter("weight", weight);
  if (!with_bias) return;
  bias = ebb::empty(Shape{out_features}, dtype);
  const double bound = in_features > 0 ? 1.0 / std::sqrt(static_cast<double>(in_features)) : 0.0;
  init::uniform_(bias, -bound, bound);
  bias = register_parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& input) { return linear(input, weight, bias); }

Tensor ReLU::forward(const Tensor& input) { return relu(input); }

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyOptions options) : options_(std::move(options)) {
  if (options_.weight.defined()) register_buffer("weight", options_.weight);
}

Tensor CrossEntropyLoss::forward(const Tensor& input, const Tensor& target) {
  return cross_entropy(input, target, options_.weight, options_.ignore_index, options_.reduction,
                       options_.label_smoothing);
}

}  // namespace ebb::nn
