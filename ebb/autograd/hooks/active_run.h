// ebb/autograd/hooks/active_run.h -- the run that a hook or node finds itself in: questions,
// callbacks.
//
// A thread knows the innermost run that it takes part in. What is counted per run (gradients of
// groups, callbacks for its end) lives in the run's own object, so a run that fails leaves nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

class GateHook;

/// What has come to a group (grad_group.h) in one run.
struct GroupState {
  size_t expected = 0;  // members that this run will come to
  size_t seen = 0;
  std::vector<Tensor> grads;
  // Of gates (gradient_gate.h):
  bool is_complete = false;        // from now on members pass
  std::vector<Edge> goals;         // where what is held back will go, by position
  std::shared_ptr<GateHook> gate;  // of a member, while anything is held back
  std::vector<Tensor> entered;     // what an entry gate let through
};

/// A gradient that was held back and goes on.
struct SentGradient {
  Edge edge;
  Tensor grad;
};

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

  /// Calls `use` with the state of a group, under the lock of this run.
  template <typename Use>
  auto with_group_state(uint64_t group, Use&& use) {
    Notes& notes = ensure_notes();
    const std::lock_guard lock(notes.mutex);
    return use(notes.groups[group]);
  }

  // For gates, on the thread that runs their node:
  /// Whether a gradient passes along the edge, whose node the run knows.
  virtual bool will_take(const Edge& edge) const = 0;
  /// Makes a node wait for one more gradient, which send() brings.
  virtual void hold(Node& node) = 0;
  /// Takes what has come to a place so far.
  virtual Tensor take_gradient(const Edge& place) = 0;
  /// `grad` goes along the edge as soon as the hook has returned.
  void send(const Edge& edge, Tensor grad);

 protected:
  ActiveRun() = default;
  ~ActiveRun() {
    if (has_notes()) [[unlikely]]
      drop_notes();
  }
  /// Also those that the callbacks queue. An exception stops it and passes on.
  void call_callbacks() {
    if (has_notes()) call_queued();
  }

  /// Whether anything of what follows can have something to do.
  bool has_notes() const { return notes_.load(std::memory_order_acquire) != nullptr; }
  std::vector<SentGradient> take_sent();
  /// With nothing left to run: opens the last gate that holds gradients back, the one nearest to
  /// the roots. Returns its node; null if there is none.
  Node* open_stalled_gate();

  /// Atomic: nodes on other threads of the run may ask.
  void note_current(Node* node) { __atomic_store_n(&current_, node, __ATOMIC_RELAXED); }

 private:
  Node* current_ = nullptr;
  /// What most runs never need.
  struct Notes {
    std::mutex mutex;  // guards what follows
    std::vector<std::function<void()>> callbacks;
    std::unordered_map<uint64_t, GroupState> groups;
    std::vector<SentGradient> sent;
  };
  Notes& ensure_notes();
  void drop_notes() noexcept;
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
