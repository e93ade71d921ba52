// ebb/optim/adam.h -- Adam and AdamW: steps scaled by running moments of the gradient.
//
// Both are one class of step; they differ in weight decay: Adam adds it to the gradient, AdamW
// shrinks the parameter directly.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
  bool maximize = false;
};

/// What Adam keeps for one parameter; tensors are undefined until its first step.
struct AdamState {
  int64_t step = 0;
  Tensor exp_avg;
  Tensor exp_avg_sq;
  Tensor max_exp_avg_sq;  // with AMSGrad only
};

/// How weight decay acts.
enum class WeightDecay { coupled, decoupled };

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
class EBB_API Adam : public Optimizer {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});

  void step() override;

  const AdamOptions& options() const { return options_; }
  /// Throws ValueError for options out of range. From the next step on.
  void set_options(const AdamOptions& options);

  const AdamState& state(size_t index) const { return states_.at(index); }
  /// Takes over copies. Throws ShapeError, DTypeError or ValueError if they do not fit.
  void set_state(size_t index, const AdamState& state);

 protected:
  Adam(const char* name, WeightDecay decay, std::vector<Tensor> parameters,
       const AdamOptions& options);

 private:
  void prepare_state(size_t index);

  const char* op_;
  WeightDecay decay_;
  AdamOptions options_;
  std::vector<AdamState> states_;
};

/// Adam with decoupled weight decay: p *= 1 - lr * weight_decay before each step.
class EBB_API AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters,
                 const AdamOptions& options = {.weight_decay = 1e-2})
      : Adam("AdamW", WeightDecay::decoupled, std::move(parameters), options) {}
};

}  // namespace ebb::optim
