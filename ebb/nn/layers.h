// ebb/nn/layers.h -- Linear, ReLU and CrossEntropyLoss.
#pragma once

#include "ebb/core/tensor.h"
#include "ebb/kernels/signatures.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

using kernels::Reduction;

/// y = x W^T + b, with W [out_features, in_features] and b [out_features], both drawn uniformly
/// from
/// +-1/sqrt(in_features).
class EBB_API Linear final : public Module {
 public:
  /// Throws ValueError for negative sizes.
  Linear(int64_t in_features, int64_t out_features, bool with_bias = true,
         DType dtype = DType::float32);
  Tensor forward(const Tensor& input) override;

  Tensor weight;
  Tensor bias;  // undefined without bias
};

/// max(x, 0), element by element.
class EBB_API ReLU final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

struct CrossEntropyOptions {
  Tensor weight{};  // per class; undefined: all 1
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0.0;
};

/// -log(softmax(input)[target]): input [N, C] of scores, target [N] of class numbers.
class EBB_API CrossEntropyLoss final : public Module {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {});
  using Module::forward;
  Tensor forward(const Tensor& input, const Tensor& target);
  Tensor operator()(const Tensor& input, const Tensor& target) { return forward(input, target); }

 private:
  CrossEntropyOptions options_;
};

}  // namespace ebb::nn
