// ebb/nn/activations.h -- activation functions as modules.
#pragma once

#include <cstdint>
#include <string>

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

/// max(x, 0), element by element.
class EBB_API ReLU final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

/// min(max(x, 0), 6), element by element.
class EBB_API ReLU6 final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

/// x where it is positive, else negative_slope * x.
class EBB_API LeakyReLU final : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& input) override;

 private:
  double negative_slope_;
};

/// x where it is positive, else alpha * (exp(x) - 1).
class EBB_API ELU final : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& input) override;

 private:
  double alpha_;
};

/// x times the normal distribution's probability of less than x.
class EBB_API GELU final : public Module {
 public:
  /// `approximate` is "none" or "tanh". Throws ValueError, at the first call, for anything else.
  explicit GELU(std::string approximate = "none") : approximate_(std::move(approximate)) {}
  Tensor forward(const Tensor& input) override;

 private:
  std::string approximate_;
};

/// x * sigmoid(x), element by element.
class EBB_API SiLU final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

/// 1 / (1 + exp(-x)), element by element.
class EBB_API Sigmoid final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

/// tanh(x), element by element.
class EBB_API Tanh final : public Module {
 public:
  Tensor forward(const Tensor& input) override;
};

/// log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold.
class EBB_API Softplus final : public Module {
 public:
  explicit Softplus(double beta = 1.0, double threshold = 20.0)
      : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& input) override;

 private:
  double beta_;
  double threshold_;
};

/// Exponentials that add up to 1 along a dim.
class EBB_API Softmax final : public Module {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  int64_t dim_;
};

/// The logarithm of the softmax.
class EBB_API LogSoftmax final : public Module {
 public:
  explicit LogSoftmax(int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  int64_t dim_;
};

}  // namespace ebb::nn
