// ebb/autograd/checkpoint_frame.cpp -- slots, computing them again, and what can go wrong there.
#include "ebb/autograd/checkpoint_frame.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ebb/autograd/active_run.h"
#include "ebb/autograd/record.h"
#include "ebb/core/error.h"

namespace ebb::autograd {

/// What stands for one saved tensor.
struct CheckpointFrame::Slot {
  std::shared_ptr<CheckpointFrame> frame;
  size_t index = 0;
};

/// Hooks of the first call.
class CheckpointHooks final : public SavedTensorsHooks {
 public:
  explicit CheckpointHooks(std::shared_ptr<CheckpointFrame> frame) : frame_(std::move(frame)) {}
  std::any pack(const Tensor& value) override { return frame_->add(value); }
  Tensor unpack(const std::any& packed) override {
    const auto& slot = *std::any_cast<std::shared_ptr<CheckpointFrame::Slot>>(&packed);
    return slot->frame->value_of(*slot);
  }

 private:
  std::shared_ptr<CheckpointFrame> frame_;
};

/// Hooks of a call that is made again: keeps what it saves, by position.
class CheckpointFrame::Recorder final : public SavedTensorsHooks {
 public:
  explicit Recorder(const CheckpointFrame& frame) : frame_(frame), values(frame.slots_.size()) {}

  std::any pack(const Tensor& value) override {
    if (has_stopped) throw StopRecomputation();
    if (count == values.size()) {
      throw AutogradError(
          str("checkpoint: recomputation must save what the forward pass saved, got it trying to "
              "save more tensors during recomputation than the ",
              count, " of the forward pass", kHint));
    }
    const size_t index = count++;
    descriptions.push_back(describe(value));
    if (!frame_.slots_[index].expired()) values[index] = value;
    if (frame_.options_.early_stop && count == values.size()) {
      has_stopped = true;
      throw StopRecomputation();
    }
    return Kept{value};  // not a Tensor, which would go on to hooks further out
  }
  Tensor unpack(const std::any& packed) override { return std::any_cast<Kept>(&packed)->value; }

  static constexpr const char* kHint =
      "\nhint: the function must do the same work on every call, for the same inputs";

 private:
  struct Kept {
    Tensor value;
  };
  const CheckpointFrame& frame_;

 public:
  Values values;
  std::vector<Description> descriptions;
  size_t count = 0;
  bool has_stopped = false;
};

CheckpointFrame::CheckpointFrame(std::function<void()> recompute, const CheckpointOptions& options)
    : recompute_(std::move(recompute)),
      options_(options),
      random_state_(options.keeps_random_state ? default_generator().state() : RandomState()),
      modes_(ThreadModes::current().for_another_call()) {}

std::shared_ptr<SavedTensorsHooks> CheckpointFrame::hooks() {
  return std::make_shared<CheckpointHooks>(shared_from_this());
}

CheckpointFrame::Description CheckpointFrame::describe(const Tensor& value) {
  return {value.shape(), value.dtype(), value.device()};
}

std::any CheckpointFrame::add(const Tensor& value) {
  const auto slot = std::make_shared<Slot>();
  slot->frame = shared_from_this();
  const std::lock_guard lock(mutex_);
  slot->index = slots_.size();
  slots_.push_back(slot);
  descriptions_.push_back(describe(value));
  return slot;
}

Tensor CheckpointFrame::value_of(const Slot& slot) {
  const std::lock_guard lock(mutex_);
  if (active_run() == nullptr) return recompute()[slot.index];  // somebody looks at a node
  Tensor value = std::exchange((*values_in_run())[slot.index], Tensor());
  if (!value.defined()) {
    throw AutogradError(
        "checkpoint: a saved tensor is given out once per run, got an unpack being triggered for "
        "a tensor that was already unpacked once\nhint: keep what the first access returned");
  }
  return value;
}

std::shared_ptr<CheckpointFrame::Values> CheckpointFrame::values_in_run() {
  ActiveRun& run = *active_run();
  std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = values_.find(run.id()); found != values_.end()) {
    const std::shared_ptr<Values> known = found->second.lock();
    if (!known->empty()) return known;  // empty: the run is over but for its last callbacks
  }
  const auto values = std::make_shared<Values>(recompute());
  values_[run.id()] = values;
  run.queue_callback([values] { values->clear(); });
  return values;
}

CheckpointFrame::Values CheckpointFrame::recompute() {
  const auto recorder = std::make_shared<Recorder>(*this);
  {
    // Another generator in the same state: the one in use is not disturbed.
    Generator generator(0);
    generator.set_state(random_state_);
    Generator& source = options_.keeps_random_state ? generator : default_generator();
    const GeneratorScope random(source);
    const ThreadModesScope modes(modes_);
    const SavedTensorsHooksGuard hooks(recorder);
    try {
      recompute_();
    } catch (...) {
      // Its own exception, perhaps turned into another one on its way, or the user's.
      if (!recorder->has_stopped) throw;
    }
  }
  check(recorder->values, *recorder);
  return std::move(recorder->values);
}

void CheckpointFrame::check(const Values& values, const Recorder& recorder) const {
  if (recorder.count != values.size()) {
    throw AutogradError(
        str("checkpoint: recomputation must save what the forward pass saved, got "
            "a different number of tensors was saved: ",
            values.size(), " in the forward pass, ", recorder.count, " in the recomputation",
            Recorder::kHint));
  }
  if (!options_.checks_metadata) return;
  std::string differing;
  const auto print = [](const Description& one) {
    return str(one.dtype, ' ', PrintShape{one.shape}, " on ", to_string(one.device));
  };
  for (size_t index = 0; index < values.size(); ++index) {
    const Description &saved = descriptions_[index], &again = recorder.descriptions[index];
    if (saved == again) continue;
    differing += str("\n  tensor at position ", index, ": saved ", print(saved), ", recomputed ",
                     print(again));
  }
  if (differing.empty()) return;
  throw AutogradError(
      str("checkpoint: recomputation must save what the forward pass saved, got "
          "recomputed values for the following tensors with different metadata:",
          differing, Recorder::kHint));
}

NodePtr<CallInputs> CallInputs::save(std::span<const Tensor> inputs) {
  auto node = make_node<CallInputs>(std::max<size_t>(inputs.size(), 1), 1, 0);
  node->saved_ = std::make_unique<SavedTensor[]>(inputs.size());
  uint64_t above = 0;
  for (size_t index = 0; index < inputs.size(); ++index) {
    above = std::max(above, add_edge(*node, index, inputs[index]));
    node->saved_[index].save_input(inputs[index], index);
  }
  NodeAccess::describe_output(*node, 0, *empty({}, DType::float32).impl());
  NodeAccess::number(*node, above, current_location(nullptr));
  pack_if_hooked(*node);
  return node;
}

void CallInputs::apply(Tensor* /*grad_outs*/, Tensor* /*grad_inputs*/, NodeRun& /*run*/) {
  throw InternalError("checkpoint: a call's inputs were reached by a run");
}

void CallInputs::visit_saved(SavedVisitor& visitor) {
  if (saved_ == nullptr) return;
  for (size_t index = 0; index < edge_count(); ++index) visitor.visit("input", saved_[index]);
}

std::vector<Tensor> CallInputs::unpack() {
  std::vector<Tensor> inputs(edge_count());
  SavedLock lock(*this);
  for (size_t index = 0; index < inputs.size(); ++index) {
    inputs[index] = saved_[index].look(*this, "an input", lock);
  }
  return inputs;
}

}  // namespace ebb::autograd
