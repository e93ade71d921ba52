// ebb/core/device/device_extras.cpp -- a slot per device type, written once.
#include "ebb/core/device/device_extras.h"

#include <atomic>

#include "ebb/core/base/error.h"

namespace ebb {
namespace {

constinit std::atomic<const DeviceExtras*> slots[kDeviceTypeCount];

}  // namespace

void detail::note_extras(DeviceType type, const DeviceExtras* extras) {
  if (extras == nullptr) return;
  if (extras->struct_size != sizeof(DeviceExtras)) {
    throw ValueError(str("register_device: needs extras of ", sizeof(DeviceExtras), " bytes, got ",
                         extras->struct_size,
                         "\nhint: build the plug-in with the headers of this version"));
  }
  slots[static_cast<int>(type)].store(extras, std::memory_order_release);
}

const DeviceExtras* detail::find_extras(DeviceType type) {
  return slots[static_cast<int>(type)].load(std::memory_order_acquire);
}

}  // namespace ebb
