// ebb/autograd/checkpoint/checkpoint_frame.h -- one checkpointed call: what it saved, and computing
// it again.
//
// Hooks pack each tensor that the call saves into a slot: a number and a share of the frame. The
// first unpack in a run makes the frame compute all of them again, by the same call with hooks that
// keep what is saved; it stops once the last is there. Values are given out once per run, unless
// the call went on to write to them, and are gone when the run is. Nested frames: the innermost
// owns what is saved. A call's inputs are saved before its own hooks are installed, so they belong
// to the frame around it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/checkpoint/op_log.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/saved_hooks.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/core/base/random.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// How checkpoint() works.
struct CheckpointOptions {
  bool early_stop = true;          // stop computing again once all that was saved is there
  bool checks_metadata = true;     // compare shape, dtype and device of what is computed again
  bool keeps_random_state = true;  // draw the same random numbers again
  bool compares_ops = false;       // note all ops, to show them if what is computed again differs
};

namespace autograd {

/// Thrown by the pack hook when all is computed that a frame needs. Not for users.
struct StopRecomputation {};

/// See the top of the file. Always owned by shared pointers.
class EBB_API CheckpointFrame : public std::enable_shared_from_this<CheckpointFrame> {
 public:
  /// `recompute` makes the call again, on any thread, and throws what it throws.
  CheckpointFrame(std::function<void()> recompute, const CheckpointOptions& options);

  /// The hooks to install while the call is made for the first time.
  std::shared_ptr<SavedTensorsHooks> hooks();
  /// The observer to install then; null if options ask for none.
  std::shared_ptr<OpObserver> log() const { return log_; }
  /// The first call has returned. Before, it may itself ask for what it saved so far, and what is
  /// computed again for that may save more.
  void finish_first_call() noexcept { is_whole_.store(true, std::memory_order_release); }

 private:
  friend class CheckpointHooks;
  class Recorder;
  struct Slot;
  class SlotHandle;
  /// Of a saved tensor, to be compared with what is computed again.
  struct Description {
    const char* op;     // whose node saved it
    size_t first_size;  // in sizes_
    uint8_t ndim;
    DType dtype;
    Device device;
  };
  /// What was computed again, as it was when it was saved.
  struct Value {
    Tensor tensor;
    uint32_t version = 0;
  };
  using Values = std::vector<Value>;

  std::any add(const Tensor& value);
  IntSpan sizes_at(size_t index) const;
  bool fits(size_t index, const Tensor& value) const;
  Tensor value_of(const Slot& slot);
  /// Those of this run, slot `index` among them.
  std::shared_ptr<Values> values_in_run(size_t index);
  /// Computes the values of all slots again, checked.
  Values recompute();
  void check(const Values& values, const Recorder& recorder) const;
  /// Throws AutogradError: what was found instead of what the first call saved, and a hint.
  [[noreturn]] void refuse(const Recorder& recorder, const std::string& found) const;

  std::function<void()> recompute_;
  CheckpointOptions options_;
  std::shared_ptr<OpLog> log_;
  RandomState random_state_;
  ThreadModes modes_;                        // of the first call
  LocationId location_;                      // of the line that makes it
  std::atomic<bool> is_whole_{false};        // see finish_first_call()
  std::deque<std::atomic<bool>> is_needed_;  // by slot: somebody may still unpack it
  std::vector<Description> descriptions_;    // of the slots
  std::vector<int64_t> sizes_;               // of all of them, one after another
  // Held while values are computed: threads of one run wait for each other's result.
  std::recursive_mutex mutex_;
  // By the number of the run, which owns them: they go with it, even if it fails.
  std::unordered_map<uint64_t, std::weak_ptr<Values>> values_;
};

/// A node that no tensor points to: saves the inputs of a call, through the hooks around it.
class EBB_API CallInputs final : public Node {
 public:
  static NodePtr<CallInputs> save(std::span<const Tensor> inputs);
  const char* name() const override { return "Checkpoint"; }
  void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) override;
  void visit_saved(SavedVisitor& visitor) override;
  /// The inputs with their history. Throws AutogradError if one was written to.
  std::vector<Tensor> unpack();

  CallInputs() = default;

 private:
  std::vector<SavedTensor> saved_;  // one per input; a node has an edge even for none
};

}  // namespace autograd
}  // namespace ebb
