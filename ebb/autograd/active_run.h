// ebb/autograd/active_run.h -- the run that a hook or node finds itself in: questions, callbacks.
//
// A thread knows the innermost run that it takes part in. What is counted per run (multi-grad
// hooks, callbacks for its end) lives in the run's own object, so a run that fails leaves nothing.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/hooks.h"
#include "ebb/autograd/node.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// What a multi-grad hook has seen in one run.
struct MultiGradState {
  size_t expected = 0;  // tensors whose gradient this run will complete
  size_t seen = 0;
  std::vector<Tensor> grads;
};

/// A number for a new multi-grad hook.
EBB_API uint64_t next_multi_grad_number();

/// One run, as seen from inside it.
class EBB_API ActiveRun {
 public:
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

  /// A number that no other run of the process has, from 0 up.
  uint64_t id();
  /// The node being run, or whose hooks are being called; null before the first.
  Node* current_node() const { return __atomic_load_n(&current_, __ATOMIC_RELAXED); }
  virtual bool keeps_graph() const = 0;
  /// Whether the run computes (or has computed) what leaves the node.
  virtual bool will_execute(const Node& node) const = 0;
  /// Whether the run completes the node's gradients and calls its tensors' hooks.
  virtual bool will_reach(const Node& node) const = 0;
  /// The nodes that the run executes, from first to last.
  virtual std::vector<NodePtr<Node>> execution_order() const = 0;

  /// Calls `callback` once, after the last gradient of this run was added.
  void queue_callback(std::function<void()> callback);

  /// Calls `use` with the state of one multi-grad hook, under the lock of this run.
  template <typename Use>
  auto with_multi_grad_state(uint64_t hook, Use&& use) {
    Notes& notes = ensure_notes();
    const std::lock_guard lock(notes.mutex);
    return use(notes.multi_grad_states[hook]);
  }

 protected:
  ActiveRun() = default;
  ~ActiveRun() { delete notes_.load(std::memory_order_relaxed); }
  /// Also those that the callbacks queue. An exception stops it and passes on.
  void call_callbacks() {
    if (notes_.load(std::memory_order_acquire) != nullptr) call_queued();
  }

  /// Atomic: nodes on other threads of the run may ask.
  void note_current(Node* node) { __atomic_store_n(&current_, node, __ATOMIC_RELAXED); }

 private:
  Node* current_ = nullptr;
  /// What most runs never need.
  struct Notes {
    std::mutex mutex;  // guards what follows
    std::vector<std::function<void()>> callbacks;
    std::unordered_map<uint64_t, MultiGradState> multi_grad_states;
  };
  Notes& ensure_notes();
  void call_queued();

  std::atomic<uint64_t> id_{UINT64_MAX};
  std::atomic<Notes*> notes_{nullptr};
};

/// The innermost run that this thread takes part in, or null.
EBB_API ActiveRun* active_run();

/// Makes this thread part of a run for the length of a scope.
class EBB_API ActiveRunScope {
 public:
  explicit ActiveRunScope(ActiveRun* run);
  ~ActiveRunScope();
  ActiveRunScope(const ActiveRunScope&) = delete;
  ActiveRunScope& operator=(const ActiveRunScope&) = delete;

 private:
  ActiveRun* outer_;
};

/// Calls `callback` once at the end of the innermost run. Throws AutogradError outside of a run.
EBB_API void queue_callback(std::function<void()> callback);

}  // namespace ebb::autograd
