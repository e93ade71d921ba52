// ebb/nn/loss.h -- Loss: the base of modules that compare an input with a target.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

using kernels::Reduction;

/// A module of two tensors.
class EBB_API Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input, const Tensor& target) {
    const ModuleCall call(*this);
    return forward(input, target);
  }
};

}  // namespace ebb::nn
