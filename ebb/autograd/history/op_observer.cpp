// ebb/autograd/history/op_observer.cpp -- each thread's stack of observers, and showing them a
// call.
#include "ebb/autograd/history/op_observer.h"

#include "ebb/autograd/history/pack_saved.h"
#include "ebb/core/base/call_name.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::autograd {
namespace {

thread_local std::shared_ptr<const ObserverFrame> top;

}  // namespace

std::shared_ptr<const ObserverFrame> current_op_observers() { return top; }

void install_op_observers(std::shared_ptr<const ObserverFrame> frame) noexcept {
  uint32_t& modes = thread_state.modes;
  modes = frame == nullptr ? modes & ~gate::kObserved : modes | gate::kObserved;
  top = std::move(frame);
}

void push_op_observer(std::shared_ptr<OpObserver> observer) {
  const bool is_observed = (thread_state.modes & gate::kObserved) != 0;
  install_op_observers(std::make_shared<const ObserverFrame>(
      ObserverFrame{std::move(observer), is_observed ? top : nullptr, top}));
}

void pop_op_observer() noexcept {
  if (top == nullptr) return;
  const bool was_observed = top->outer != nullptr;
  top = top->below;
  if (!was_observed) thread_state.modes &= ~gate::kObserved;
}

Observation::Observation(const OpCall& call) : call_(call), first_(top) {
  if (call.writes) return;
  const ModeScope unobserved(0, gate::kObserved);
  const CallName nobody(nullptr);  // an observer's errors are its own
  for (const ObserverFrame* frame = first_.get(); frame != nullptr; frame = frame->outer.get()) {
    supplied = frame->observer->supply(call_);
    if (!supplied) continue;
    end_ = frame;
    return;
  }
}

void Observation::finish(std::span<const Tensor> results) {
  {
    const ModeScope unobserved(0, gate::kObserved);
    const CallName nobody(nullptr);
    for (const ObserverFrame* frame = first_.get(); frame != end_; frame = frame->outer.get()) {
      frame->observer->see(call_, results);
    }
  }
  if (call_.writes || (thread_state.modes & gate::kSavedHooks) == 0) return;
  const void* packed = nullptr;
  for (const Tensor& result : results) {
    const void* const producer = result.defined() ? result.impl()->producer : nullptr;
    if (producer != nullptr && producer != packed) pack_saved_of(result);
    packed = producer;
  }
}

}  // namespace ebb::autograd
