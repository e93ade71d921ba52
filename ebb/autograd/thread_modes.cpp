// ebb/autograd/thread_modes.cpp -- reading and writing all modes of a thread.
#include "ebb/autograd/thread_modes.h"

#include "ebb/autograd/forward_mode.h"

namespace ebb::autograd {

ThreadModes ThreadModes::current() {
  ThreadModes modes;
  modes.bits_ = thread_state.modes;
  modes.forward_level_ = innermost_forward_level();
  modes.location_ = thread_state.location;
  modes.devices_ = device_modes();
  return modes;
}

ThreadModes ThreadModes::with_grad(bool is_enabled) const {
  ThreadModes modes = *this;
  modes.bits_ = is_enabled ? bits_ & ~gate::kNoGrad : bits_ | gate::kNoGrad;
  return modes;
}

void ThreadModes::install() const noexcept {
  thread_state.modes = bits_;
  thread_state.location = location_;
  set_innermost_forward_level(forward_level_);
  set_device_modes(devices_);
}

}  // namespace ebb::autograd
