// ebb/autograd/checkpoint/checkpoint_frame.cpp -- slots, computing them again, and what can go
// wrong there.
#include "ebb/autograd/checkpoint/checkpoint_frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ebb/autograd/checkpoint/selective_cache.h"
#include "ebb/autograd/history/names/stale.h"
#include "ebb/autograd/history/pack_saved.h"
#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/hooks/active_run.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

bool is_same_op(const char* again, const char* saved) {
  return std::strcmp(again, saved) == 0 || std::strcmp(again, kKeptResult) == 0;
}

}  // namespace

/// What stands for one saved tensor: counted by its handles.
struct CheckpointFrame::Slot {
  std::shared_ptr<CheckpointFrame> frame;
  size_t index;
  std::atomic<bool>* is_needed;
  std::atomic<uint32_t> handles{1};
};

/// A share of a slot, as long as a pointer: std::any then needs no memory for it.
class CheckpointFrame::SlotHandle {
 public:
  explicit SlotHandle(Slot* adopted) : slot_(adopted) {}
  SlotHandle(const SlotHandle& other) : slot_(other.slot_) {
    slot_->handles.fetch_add(1, std::memory_order_relaxed);
  }
  SlotHandle(SlotHandle&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  SlotHandle& operator=(const SlotHandle&) = delete;
  ~SlotHandle() {
    if (slot_ == nullptr || slot_->handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    slot_->is_needed->store(false, std::memory_order_relaxed);
    delete slot_;
  }
  const Slot& operator*() const { return *slot_; }

 private:
  Slot* slot_;
};

/// Hooks of the first call.
class CheckpointHooks final : public SavedTensorsHooks {
 public:
  explicit CheckpointHooks(std::shared_ptr<CheckpointFrame> frame) : frame_(std::move(frame)) {}
  std::any pack(const Tensor& value) override { return frame_->add(value); }
  Tensor unpack(const std::any& packed) override {
    const CheckpointFrame::Slot& slot = **std::any_cast<CheckpointFrame::SlotHandle>(&packed);
    return slot.frame->value_of(slot);
  }

 private:
  std::shared_ptr<CheckpointFrame> frame_;
};

/// Hooks of a call that is made again: keeps what it saves, by position.
class CheckpointFrame::Recorder final : public SavedTensorsHooks {
 public:
  explicit Recorder(const CheckpointFrame& frame)
      : frame_(frame),
        values(frame.is_needed_.size()),
        log(frame.log_ != nullptr ? std::make_shared<OpLog>() : nullptr) {}

  std::any pack(const Tensor& value) override {
    if (has_stopped) throw StopRecomputation();
    if (count == values.size()) {
      // Asked for by the first call itself, which has yet to come here.
      if (!frame_.is_whole_.load(std::memory_order_acquire)) return Kept{value};
      frame_.refuse(*this, str("it trying to save more tensors during recomputation than the ",
                               count, " of the forward pass"));
    }
    const size_t index = count++;
    if (!frame_.fits(index, value)) note_difference(index, value);
    if (frame_.is_needed_[index].load(std::memory_order_relaxed)) {
      values[index] = {value, value.version()};
    }
    if (frame_.options_.early_stop && count == values.size()) {
      has_stopped = true;
      throw StopRecomputation();
    }
    return Kept{value};  // not a Tensor, which would go on to hooks further out
  }
  Tensor unpack(const std::any& packed) override { return std::any_cast<Kept>(&packed)->value; }

 private:
  struct Kept {
    Tensor value;
  };
  void note_difference(size_t index, const Tensor& again) {
    const Description& saved = frame_.descriptions_[index];
    const bool is_other_op = !is_same_op(packing_op(), saved.op);
    const auto print = [&](DType dtype, IntSpan sizes, Device device, const char* op) {
      return str(dtype, ' ', PrintShape{sizes}, " on ", to_string(device),
                 is_other_op ? str(" by ", op) : "");
    };
    differing +=
        str("\n  tensor at position ", index, ": saved ",
            print(saved.dtype, frame_.sizes_at(index), saved.device, saved.op), ", recomputed ",
            print(again.dtype(), again.sizes(), again.device(), packing_op()));
  }

  const CheckpointFrame& frame_;

 public:
  Values values;
  const std::shared_ptr<OpLog> log;  // null unless ops are compared
  std::string differing;             // a line for each tensor that is not like the one saved
  size_t count = 0;
  bool has_stopped = false;
};

CheckpointFrame::CheckpointFrame(std::function<void()> recompute, const CheckpointOptions& options)
    : recompute_(std::move(recompute)),
      options_(options),
      log_(options.compares_ops ? std::make_shared<OpLog>() : nullptr),
      random_state_(options.keeps_random_state ? default_generator().state() : RandomState()),
      modes_(ThreadModes::current().for_another_call()),
      location_(current_location(nullptr)) {}

std::shared_ptr<SavedTensorsHooks> CheckpointFrame::hooks() {
  return std::make_shared<CheckpointHooks>(shared_from_this());
}

std::any CheckpointFrame::add(const Tensor& value) {
  const std::lock_guard lock(mutex_);
  const IntSpan sizes = value.sizes();
  descriptions_.push_back({.op = packing_op(),
                           .first_size = sizes_.size(),
                           .ndim = static_cast<uint8_t>(sizes.size()),
                           .dtype = value.dtype(),
                           .device = value.device()});
  sizes_.insert(sizes_.end(), sizes.begin(), sizes.end());
  std::atomic<bool>& is_needed = is_needed_.emplace_back(true);
  return SlotHandle(new Slot{shared_from_this(), is_needed_.size() - 1, &is_needed});
}

IntSpan CheckpointFrame::sizes_at(size_t index) const {
  return {sizes_.data() + descriptions_[index].first_size, descriptions_[index].ndim};
}

bool CheckpointFrame::fits(size_t index, const Tensor& value) const {
  const Description& saved = descriptions_[index];
  return value.dtype() == saved.dtype && value.device() == saved.device &&
         is_same_op(packing_op(), saved.op) && equal(value.sizes(), sizes_at(index));
}

Tensor CheckpointFrame::value_of(const Slot& slot) {
  const std::lock_guard lock(mutex_);
  Value value = active_run() == nullptr
                    ? recompute()[slot.index]  // somebody looks at a node
                    : std::exchange((*values_in_run(slot.index))[slot.index], Value());
  if (!value.tensor.defined()) {
    throw AutogradError(
        "checkpoint: a saved tensor is given out once per run, got an unpack being triggered for "
        "a tensor that was already unpacked once\nhint: keep what the first access returned");
  }
  refuse_stale("checkpoint", *value.tensor.impl(), value.version);
  return value.tensor;
}

std::shared_ptr<CheckpointFrame::Values> CheckpointFrame::values_in_run(size_t index) {
  ActiveRun& run = *active_run();
  if (const auto found = values_.find(run.id()); found != values_.end()) {
    const std::shared_ptr<Values> known = found->second.lock();
    // Empty: the run is over but for its last callbacks. Too few: the first call, which goes on
    // inside of this run, has saved more since.
    if (known != nullptr && index < known->size()) return known;
  }
  std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
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
    const OpObserverGuard log(recorder->log);
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
    refuse(recorder, str("a different number of tensors was saved: ", values.size(),
                         " in the forward pass, ", recorder.count, " in the recomputation"));
  }
  if (!options_.checks_metadata || recorder.differing.empty()) return;
  refuse(recorder, "recomputed values for the following tensors with different metadata:" +
                       recorder.differing);
}

void CheckpointFrame::refuse(const Recorder& recorder, const std::string& found) const {
  std::string hint =
      "the function must do the same work on every call, for the same inputs, and what it reads "
      "must require gradients in both calls or in none";
  if (log_ == nullptr) hint += "; debug=True shows the ops of both calls";
  throw AutogradError(str("checkpoint: recomputation must save what the forward pass saved, got ",
                          found, "\n  by the call at ", line_of(location_),
                          log_ != nullptr ? OpLog::side_by_side(*log_, *recorder.log) : "",
                          "\nhint: ", hint));
}

NodePtr<CallInputs> CallInputs::save(std::span<const Tensor> inputs) {
  auto node = make_node<CallInputs>(std::max<size_t>(inputs.size(), 1), 1, 0);
  node->saved_ = std::vector<SavedTensor>(inputs.size());
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
  for (SavedTensor& saved : saved_) visitor.visit("input", saved);
}

std::vector<Tensor> CallInputs::unpack() {
  std::vector<Tensor> inputs(saved_.size());
  SavedLock lock(*this);
  for (size_t index = 0; index < inputs.size(); ++index) {
    inputs[index] = saved_[index].look(*this, "an input", lock);
    // One that has come to require a gradient since: the call must save what it saved then.
    const bool was_constant = edges()[index].node == nullptr;
    if (was_constant && inputs[index].requires_grad()) inputs[index] = detached(inputs[index]);
  }
  return inputs;
}

}  // namespace ebb::autograd
