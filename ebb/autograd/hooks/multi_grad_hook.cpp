// ebb/autograd/hooks/multi_grad_hook.cpp -- counting the gradients of several tensors.
#include "ebb/autograd/hooks/multi_grad_hook.h"

#include <utility>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/hooks/active_run.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

namespace {

std::vector<GradGroup::Member> members_of(std::span<const GradientEdge> places) {
  std::vector<GradGroup::Member> members;
  for (uint32_t position = 0; position < places.size(); ++position) {
    members.push_back({places[position].node.get(), {{0, position}}});
  }
  return members;
}

/// Where the tensors are now; these own the nodes.
std::vector<GradientEdge> places_of(std::span<const Tensor> tensors) {
  std::vector<GradientEdge> places;
  for (size_t position = 0; position < tensors.size(); ++position) {
    if (!tensors[position].defined() || !tensors[position].requires_grad()) {
      throw AutogradError(str("register_multi_grad_hook: tensor ", position,
                              " must require a gradient, got one that does not"));
    }
    places.push_back(get_gradient_edge(tensors[position]));
  }
  return places;
}

}  // namespace

MultiGradGroup::MultiGradGroup(MultiGradMode mode, std::span<const GradientEdge> places)
    : GradGroup(Awaits::reached, places.size(), members_of(places)), mode_(mode) {}

bool MultiGradGroup::arrive(size_t position, const Tensor& grad, std::vector<Tensor>& arguments) {
  ActiveRun* const run = active_run();
  if (run == nullptr) return false;  // a node called by hand
  return run->with_group_state(number(), [&](GroupState& state) {
    const bool is_last = note_arrival(*run, state);
    if (mode_ == MultiGradMode::any) {
      if (state.seen == 1) arguments.push_back(grad);
      return state.seen == 1;
    }
    state.grads[position] = grad;
    if (is_last) arguments = std::move(state.grads);
    return is_last;
  });
}

void MultiGradHook::call(const HookCall& call) {
  std::vector<Tensor> arguments;
  if (group_->arrive(position_, call.grads[0], arguments)) finish(arguments);
}

HookHandles add_multi_grad_hook(
    std::span<const Tensor> tensors, MultiGradMode mode,
    const std::function<std::shared_ptr<Hook>(std::shared_ptr<MultiGradGroup>, size_t)>& make) {
  const std::vector<GradientEdge> places = places_of(tensors);
  const auto group = std::make_shared<MultiGradGroup>(mode, places);
  std::vector<HookHandle> handles;
  for (size_t position = 0; position < places.size(); ++position) {
    const GradientEdge& place = places[position];
    handles.push_back(add_tensor_hook_at(*place.node, place.output_nr, make(group, position)));
  }
  return HookHandles(std::move(handles));
}

namespace {

class FunctionMultiGradHook final : public MultiGradHook {
 public:
  using Function = std::function<void(std::span<const Tensor> grads)>;
  FunctionMultiGradHook(std::shared_ptr<MultiGradGroup> group, size_t position,
                        std::shared_ptr<Function> function)
      : MultiGradHook(std::move(group), position), function_(std::move(function)) {}

 protected:
  void finish(std::span<const Tensor> grads) override { (*function_)(grads); }

 private:
  std::shared_ptr<Function> function_;
};

}  // namespace
}  // namespace ebb::autograd

namespace ebb {

autograd::HookHandles register_multi_grad_hook(
    std::span<const Tensor> tensors, std::function<void(std::span<const Tensor> grads)> hook,
    autograd::MultiGradMode mode) {
  using autograd::FunctionMultiGradHook;
  const auto function = std::make_shared<FunctionMultiGradHook::Function>(std::move(hook));
  return autograd::add_multi_grad_hook(
      tensors, mode, [&](std::shared_ptr<autograd::MultiGradGroup> group, size_t position) {
        return std::make_shared<FunctionMultiGradHook>(std::move(group), position, function);
      });
}

}  // namespace ebb
