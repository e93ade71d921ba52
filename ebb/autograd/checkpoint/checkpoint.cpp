// ebb/autograd/checkpoint/checkpoint.cpp -- a call whose saved values are computed again.
#include "ebb/autograd/checkpoint/checkpoint.h"

#include <memory>
#include <utility>

#include "ebb/autograd/history/grad_mode.h"

namespace ebb {

std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(std::span<const Tensor>)> function,
                               std::span<const Tensor> inputs, const CheckpointOptions& options,
                               const CheckpointPolicyFunction& policy) {
  if (!is_grad_enabled()) return function(inputs);
  const auto cache = policy ? std::make_shared<autograd::SelectiveCache>(policy) : nullptr;
  const auto saved = autograd::CallInputs::save(inputs);
  const auto frame = std::make_shared<autograd::CheckpointFrame>(
      [function, saved, cache, count = inputs.size()] {
        const std::vector<Tensor> again = saved->unpack();
        const autograd::OpObserverGuard giver(cache != nullptr ? cache->giver() : nullptr);
        static_cast<void>(function(std::span(again).first(count)));
      },
      options);
  const SavedTensorsHooksGuard hooks(frame->hooks());
  const autograd::OpObserverGuard log(frame->log());
  const autograd::OpObserverGuard keeper(cache != nullptr ? cache->keeper() : nullptr);
  std::vector<Tensor> results = function(inputs);
  frame->finish_first_call();
  return results;
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input,
                  const CheckpointOptions& options, const CheckpointPolicyFunction& policy) {
  const auto call = [function = std::move(function)](std::span<const Tensor> inputs) {
    return std::vector<Tensor>{function(inputs[0])};
  };
  return checkpoint(call, std::span(&input, 1), options, policy)[0];
}

}  // namespace ebb
