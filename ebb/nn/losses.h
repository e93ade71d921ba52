// ebb/nn/losses.h -- losses as modules: each holds its options and calls its op.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

/// A loss of two tensors.
class EBB_API Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input, const Tensor& target) {
    const ModuleCall call(*this);
    return forward(input, target);
  }

 protected:
  explicit Loss(kernels::Reduction reduction) : reduction_(reduction) {}
  kernels::Reduction reduction_;
};

/// The squared difference.
class EBB_API MSELoss final : public Loss {
 public:
  explicit MSELoss(kernels::Reduction reduction = kernels::Reduction::mean) : Loss(reduction) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

/// The absolute difference.
class EBB_API L1Loss final : public Loss {
 public:
  explicit L1Loss(kernels::Reduction reduction = kernels::Reduction::mean) : Loss(reduction) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

/// The difference: squared, over 2 beta, below beta, and absolute above.
class EBB_API SmoothL1Loss final : public Loss {
 public:
  explicit SmoothL1Loss(kernels::Reduction reduction = kernels::Reduction::mean, double beta = 1.0)
      : Loss(reduction), beta_(beta) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  double beta_;
};

/// The difference: squared, over 2, below delta, and delta times absolute above.
class EBB_API HuberLoss final : public Loss {
 public:
  explicit HuberLoss(kernels::Reduction reduction = kernels::Reduction::mean, double delta = 1.0)
      : Loss(reduction), delta_(delta) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  double delta_;
};

/// The cross entropy of the target with a probability.
class EBB_API BCELoss final : public Loss {
 public:
  explicit BCELoss(const Tensor& weight = {},
                   kernels::Reduction reduction = kernels::Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  Tensor weight_;
};

/// The cross entropy of the target with sigmoid(input); `pos_weight` multiplies the part of the
/// target that is 1.
class EBB_API BCEWithLogitsLoss final : public Loss {
 public:
  explicit BCEWithLogitsLoss(const Tensor& weight = {},
                             kernels::Reduction reduction = kernels::Reduction::mean,
                             const Tensor& pos_weight = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  Tensor weight_, pos_weight_;
};

/// The Kullback-Leibler divergence of log-probabilities from the target.
class EBB_API KLDivLoss final : public Loss {
 public:
  explicit KLDivLoss(kernels::Reduction reduction = kernels::Reduction::mean,
                     bool log_target = false)
      : Loss(reduction), log_target_(log_target) {}
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  bool log_target_;
};

/// The negative log-probability of the target class.
class EBB_API NLLLoss final : public Loss {
 public:
  explicit NLLLoss(const Tensor& weight = {}, int64_t ignore_index = -100,
                   kernels::Reduction reduction = kernels::Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) override;

 private:
  Tensor weight_;
  int64_t ignore_index_;
};

}  // namespace ebb::nn
