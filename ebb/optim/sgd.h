// ebb/optim/sgd.h -- SGD: stochastic gradient descent with momentum.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool maximize = false;
};

/// With d = grad + weight_decay * p (negated to maximize) and b = momentum * b + (1 - dampening) *
/// d (the first time b = d): p -= lr * b, or with Nesterov p -= lr * (d + momentum * b).
class EBB_API SGD final : public Optimizer {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit SGD(std::vector<Tensor> parameters, const SGDOptions& options = {});

  void step() override;

  const SGDOptions& options() const { return options_; }
  /// Throws ValueError for options out of range. From the next step on.
  void set_options(const SGDOptions& options);

  /// The momentum buffer of one parameter; undefined until its first step with momentum.
  const Tensor& momentum_buffer(size_t index) const { return buffers_.at(index); }
  /// Takes over a copy. Throws ShapeError or DTypeError if it does not fit.
  void set_momentum_buffer(size_t index, const Tensor& buffer);

 private:
  SGDOptions options_;
  std::vector<Tensor> buffers_;
};

}  // namespace ebb::optim
