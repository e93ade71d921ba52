// ebb/autograd/history/saved_hooks.h -- hooks that pack what nodes save, and unpack it in backward.
//
// Each thread has a stack of pairs of hooks. While it is not empty (gate::kSavedHooks), recording
// takes its slow path, and every tensor that the new node saved goes through the pack hooks: to
// another device, to a file, or into nothing that can be computed again. Nested pairs compose,
// innermost first, and unpack in the opposite order. Start reading at SavedTensorsHooksGuard;
// pack_saved.h and packed_value.h do the work.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// A pair of hooks. Called without recording and without hooks, on whatever thread saves or runs.
class EBB_API SavedTensorsHooks {
 public:
  virtual ~SavedTensorsHooks() = default;
  /// Called once for a tensor that is saved, a detached alias of which is `value`: returns what to
  /// keep in its place. Must not write to it. Only a Tensor is passed on to hooks further out.
  virtual std::any pack(const Tensor& value) = 0;
  /// Called whenever the value is needed: returns a tensor of the same shape, dtype and device.
  virtual Tensor unpack(const std::any& packed) = 0;
  /// The tensors inside something packed, for counting bytes.
  virtual std::vector<Tensor> tensors_in(const std::any& packed) const;
};

using PackHook = std::function<std::any(const Tensor&)>;
using UnpackHook = std::function<Tensor(const std::any&)>;
EBB_API std::shared_ptr<SavedTensorsHooks> make_saved_tensors_hooks(PackHook pack,
                                                                    UnpackHook unpack);

/// Installs hooks on this thread, inside those already there. Throws AutogradError while they are
/// disabled.
EBB_API void push_saved_tensors_hooks(std::shared_ptr<SavedTensorsHooks> hooks);
/// Takes the innermost hooks away.
EBB_API void pop_saved_tensors_hooks() noexcept;

/// Hooks for the length of a scope.
class SavedTensorsHooksGuard {
 public:
  explicit SavedTensorsHooksGuard(std::shared_ptr<SavedTensorsHooks> hooks) {
    push_saved_tensors_hooks(std::move(hooks));
  }
  SavedTensorsHooksGuard(PackHook pack, UnpackHook unpack)
      : SavedTensorsHooksGuard(make_saved_tensors_hooks(std::move(pack), std::move(unpack))) {}
  ~SavedTensorsHooksGuard() { pop_saved_tensors_hooks(); }
  SavedTensorsHooksGuard(const SavedTensorsHooksGuard&) = delete;
  SavedTensorsHooksGuard& operator=(const SavedTensorsHooksGuard&) = delete;
};

/// In this scope, on this thread, installing hooks throws AutogradError with `message`. Throws
/// AutogradError if hooks are installed already.
class EBB_API DisableSavedTensorsHooksGuard {
 public:
  explicit DisableSavedTensorsHooksGuard(std::string message);
  ~DisableSavedTensorsHooksGuard();
  DisableSavedTensorsHooksGuard(const DisableSavedTensorsHooksGuard&) = delete;
  DisableSavedTensorsHooksGuard& operator=(const DisableSavedTensorsHooksGuard&) = delete;
};

namespace autograd {

/// One pair of hooks of a thread's stack. Immutable, so that packed values and other threads can
/// share it.
struct HookFrame {
  std::shared_ptr<SavedTensorsHooks> hooks;
  std::shared_ptr<const HookFrame> outer;
};

/// This thread's innermost hooks, to be installed on another thread; null if there are none.
EBB_API std::shared_ptr<const HookFrame> current_saved_hooks();
EBB_API void install_saved_hooks(std::shared_ptr<const HookFrame> frame) noexcept;

/// How hooks are called: nothing is recorded, no hooks apply, and the place running is their own.
class EBB_API HookCallScope {
 public:
  HookCallScope();
  ~HookCallScope();
  HookCallScope(const HookCallScope&) = delete;
  HookCallScope& operator=(const HookCallScope&) = delete;

 private:
  std::shared_ptr<const HookFrame> saved_;
  std::vector<std::string> disabled_;
  LocationScope location_;
  ModeScope mode_;
};

}  // namespace autograd
}  // namespace ebb
