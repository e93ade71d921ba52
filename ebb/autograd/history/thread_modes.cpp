// ebb/autograd/history/thread_modes.cpp -- reading and writing all modes of a thread.
#include "ebb/autograd/history/thread_modes.h"

namespace ebb::autograd {

ThreadModes ThreadModes::current() {
  ThreadModes modes;
  modes.bits_ = thread_state.modes;
  modes.forward_level_ = innermost_forward_level();
  modes.location_ = thread_state.location;
  if ((modes.bits_ & gate::kSavedHooks) != 0) modes.saved_hooks_ = current_saved_hooks();
  if ((modes.bits_ & gate::kObserved) != 0) modes.observers_ = current_op_observers();
  modes.devices_ = device_modes();
  modes.autocast_ = current_autocast();
  return modes;
}

ThreadModes ThreadModes::for_another_call() const {
  ThreadModes modes = *this;
  modes.bits_ &= ~(gate::kSavedHooks | gate::kObserved);
  modes.saved_hooks_ = nullptr;
  modes.observers_ = nullptr;
  modes.location_ = 0;
  return modes;
}

void ThreadModes::install() const noexcept {
  const bool has_hooks = ((thread_state.modes | bits_) & gate::kSavedHooks) != 0;
  if (has_hooks) install_saved_hooks(saved_hooks_);
  if (((thread_state.modes | bits_) & gate::kObserved) != 0) install_op_observers(observers_);
  thread_state.modes = bits_;
  thread_state.location = location_;
  set_innermost_forward_level(forward_level_);
  set_device_modes(devices_);
  if (autocast_ != current_autocast()) install_autocast(autocast_);
}

}  // namespace ebb::autograd
