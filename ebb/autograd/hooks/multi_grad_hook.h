// ebb/autograd/hooks/multi_grad_hook.h -- one hook for several tensors, called once per run.
//
// Each tensor gets a hook that belongs to a common group. What has arrived is counted in the run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ebb/autograd/hooks/grad_group.h"
#include "ebb/autograd/hooks/hooks.h"

namespace ebb::autograd {

struct GradientEdge;

enum class MultiGradMode : uint8_t {
  all,  // call after the last gradient that the run completes, with all of them
  any,  // call with the first
};

/// The nodes of the tensors that share a hook, one member per tensor.
class EBB_API MultiGradGroup : public GradGroup {
 public:
  MultiGradGroup(MultiGradMode mode, std::span<const GradientEdge> places);
  /// Notes a gradient. Gives what the hook is to be called with, if that is now.
  bool arrive(size_t position, const Tensor& grad, std::vector<Tensor>& arguments);

 private:
  const MultiGradMode mode_;
};

/// The hook of one tensor of a group.
class EBB_API MultiGradHook : public Hook {
 public:
  MultiGradHook(std::shared_ptr<MultiGradGroup> group, size_t position)
      : group_(std::move(group)), position_(position) {}
  void call(const HookCall& call) final;
  void detached() noexcept final { group_->forget(position_); }

 protected:
  /// mode all: one gradient per tensor, undefined where none came; mode any: one gradient.
  virtual void finish(std::span<const Tensor> grads) = 0;

 private:
  std::shared_ptr<MultiGradGroup> group_;
  size_t position_;
};

/// Registers on each tensor the hook that `make` gives for its position in the group. Should `make`
/// rewrite a tensor, the hook belongs to the place that it had.
EBB_API HookHandles add_multi_grad_hook(
    std::span<const Tensor> tensors, MultiGradMode mode,
    const std::function<std::shared_ptr<Hook>(std::shared_ptr<MultiGradGroup>, size_t)>& make);

}  // namespace ebb::autograd

namespace ebb {

/// Calls `hook` once per run: see MultiGradMode. A run that needs none of the tensors does not call
/// it. Throws AutogradError for a tensor that requires no gradient.
EBB_API autograd::HookHandles register_multi_grad_hook(
    std::span<const Tensor> tensors, std::function<void(std::span<const Tensor> grads)> hook,
    autograd::MultiGradMode mode = autograd::MultiGradMode::all);

}  // namespace ebb
