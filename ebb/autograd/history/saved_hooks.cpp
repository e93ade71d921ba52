// ebb/autograd/history/saved_hooks.cpp -- each thread's stack of saved-tensor hooks, and who packs.
#include "ebb/autograd/history/saved_hooks.h"

#include <optional>
#include <utility>

#include "ebb/core/base/error.h"

namespace ebb {
namespace autograd {
namespace {

/// What a thread that ever used hooks has.
struct HookStack {
  std::shared_ptr<const HookFrame> top;
  std::vector<std::string> disabled;  // messages; hooks are refused with the last
};
thread_local HookStack hook_stack;

void set_top(std::shared_ptr<const HookFrame> top) noexcept {
  uint32_t& modes = thread_state.modes;
  modes = top == nullptr ? modes & ~gate::kSavedHooks : modes | gate::kSavedHooks;
  hook_stack.top = std::move(top);
}

}  // namespace

std::shared_ptr<const HookFrame> current_saved_hooks() { return hook_stack.top; }
void install_saved_hooks(std::shared_ptr<const HookFrame> frame) noexcept {
  set_top(std::move(frame));
}

HookCallScope::HookCallScope()
    : saved_(std::exchange(hook_stack.top, nullptr)),
      disabled_(std::exchange(hook_stack.disabled, {})),
      location_(0),
      mode_(gate::kNoGrad, gate::kSavedHooks | gate::kObserved) {}

HookCallScope::~HookCallScope() {
  hook_stack.top = std::move(saved_);
  hook_stack.disabled = std::move(disabled_);
}

}  // namespace autograd

using autograd::hook_stack;

std::vector<Tensor> SavedTensorsHooks::tensors_in(const std::any& packed) const {
  const Tensor* const tensor = std::any_cast<Tensor>(&packed);
  return tensor == nullptr ? std::vector<Tensor>() : std::vector<Tensor>{*tensor};
}

std::shared_ptr<SavedTensorsHooks> make_saved_tensors_hooks(PackHook pack, UnpackHook unpack) {
  class Functions final : public SavedTensorsHooks {
   public:
    Functions(PackHook pack, UnpackHook unpack)
        : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
    std::any pack(const Tensor& value) override { return pack_(value); }
    Tensor unpack(const std::any& packed) override { return unpack_(packed); }

   private:
    PackHook pack_;
    UnpackHook unpack_;
  };
  return std::make_shared<Functions>(std::move(pack), std::move(unpack));
}

void push_saved_tensors_hooks(std::shared_ptr<SavedTensorsHooks> hooks) {
  if (!hook_stack.disabled.empty()) throw AutogradError(hook_stack.disabled.back());
  autograd::set_top(std::make_shared<const autograd::HookFrame>(
      autograd::HookFrame{std::move(hooks), hook_stack.top}));
}

void pop_saved_tensors_hooks() noexcept {
  if (hook_stack.top != nullptr) autograd::set_top(hook_stack.top->outer);
}

DisableSavedTensorsHooksGuard::DisableSavedTensorsHooksGuard(std::string message) {
  if (hook_stack.top != nullptr) {
    throw AutogradError("disable_saved_tensors_hooks: needs no hooks to be installed, got some");
  }
  hook_stack.disabled.push_back(std::move(message));
}

DisableSavedTensorsHooksGuard::~DisableSavedTensorsHooksGuard() { hook_stack.disabled.pop_back(); }

}  // namespace ebb
