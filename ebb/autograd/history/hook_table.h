// ebb/autograd/history/hook_table.h -- the hooks that a node has: functions to be called by a run.
//
// What they are called for, and when, is said in hooks/hooks.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

enum class HookKind : uint8_t { gate, tensor, pre, post, post_accumulate };

/// What a hook is called with, and what it may change.
struct HookCall {
  HookKind kind;
  /// tensor: the gradient; gate and pre: those of all outputs; post: those of all inputs;
  /// post_accumulate: the leaf. Undefined where there is none. Assigning replaces (not the leaf).
  std::span<Tensor> grads;
  /// post: the gradients of the outputs.
  std::span<const Tensor> grad_outs = {};
  /// gate: to be set if the node must wait for a gradient that the gate holds back.
  bool* is_held = nullptr;
};

/// A function to be called. Several runs on several threads may call it at the same time.
class EBB_API Hook {
 public:
  Hook() = default;
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  virtual ~Hook() = default;
  virtual void call(const HookCall& call) = 0;
  /// For messages.
  virtual std::string name() const { return "hook"; }
  /// What to call it in messages, if not what it is registered as.
  virtual const char* noun() const { return nullptr; }
  /// It was removed, or its node is dying: from now on nothing calls it.
  virtual void detached() noexcept {}
  /// The one object of the front end that it owns a count of, for that front end's collector.
  virtual void* front_end_object() const { return nullptr; }
};

/// The hooks of one node, in order of registration. Shared with handles, but emptied when its node
/// dies: a handle keeps no closure alive.
class EBB_API HookTable {
 public:
  struct Entry {
    uint64_t id;
    HookKind kind;
    uint32_t output;  // of a tensor hook
    std::shared_ptr<Hook> hook;
  };
  using List = std::vector<Entry>;

  /// Returns the hook's number, which no other hook of the process ever has.
  uint64_t add(HookKind kind, uint32_t output, std::shared_ptr<Hook> hook);
  /// Whether it was still there.
  bool remove(uint64_t id);
  void clear() noexcept;
  bool has(HookKind kind) const {
    return (kinds_.load(std::memory_order_acquire) & bit(kind)) != 0;
  }
  bool empty() const { return kinds_.load(std::memory_order_acquire) == 0; }
  /// The hooks of all kinds as they are now; never null.
  std::shared_ptr<const List> snapshot() const;

 private:
  static uint32_t bit(HookKind kind) { return 1u << static_cast<uint32_t>(kind); }
  void note_change();

  mutable std::mutex mutex_;  // guards what follows; held only to look or to change
  List entries_;
  mutable std::shared_ptr<const List> snapshot_;  // made when asked for, dropped by a change
  std::atomic<uint32_t> kinds_{0};
};

}  // namespace ebb::autograd
