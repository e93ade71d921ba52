// ebb/autograd/history/casts/autocast_state.cpp -- what is current, asked for and changed.
#include "ebb/autograd/history/casts/autocast_state.h"

#include "ebb/autograd/history/casts/amp_call.h"
#include "ebb/autograd/history/casts/cast_cache.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb {
namespace {

/// Installs what is current for the device, with a change.
void change(DeviceType device, FunctionRef<void(AutocastOptions&)> set) {
  AutocastOptions options{.device_type = device,
                          .dtype = autocast_dtype(device),
                          .enabled = is_autocast_enabled(device),
                          .cache_enabled = is_autocast_cache_enabled()};
  if (const autograd::AutocastFrame* const frame = autograd::current_autocast().get()) {
    const autograd::AutocastSettings& now = frame->of(device);
    if (now.level != AmpLevel::O0) options.level = now.level;
    options.custom_white_list = now.white;
    options.custom_black_list = now.black;
  }
  set(options);
  autograd::change_autocast(options);
}

}  // namespace

void set_autocast_enabled(DeviceType device, bool enabled) {
  change(device, [&](AutocastOptions& options) { options.enabled = enabled; });
}

void set_autocast_dtype(DeviceType device, DType dtype) {
  change(device, [&](AutocastOptions& options) { options.dtype = dtype; });
}

void set_autocast_cache_enabled(bool enabled) {
  change(DeviceType::cpu, [&](AutocastOptions& options) { options.cache_enabled = enabled; });
}

void clear_autocast_cache() noexcept {
  const autograd::AutocastFramePtr& frame = autograd::current_autocast();
  if (frame != nullptr) frame->shared_cache()->clear();
}

}  // namespace ebb
