// ebb/core/device/device_extras.cpp -- asks plug-ins that tell, and answers for those that do not.
#include "ebb/core/device/device_extras.h"

#include <atomic>

#include "ebb/core/base/error.h"
#include "ebb/core/device/device_block.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb {
namespace {

constinit std::atomic<const DeviceExtras*> known[kDeviceTypeCount];

/// Null if the plug-in has none.
const DeviceExtras* extras_of(const char* call, Device device) {
  plugin_of(call, device);
  return known[static_cast<int>(device.type)].load(std::memory_order_acquire);
}

}  // namespace

void detail::note_extras(DeviceType type, const DeviceExtras* extras) {
  if (extras == nullptr) return;
  if (extras->struct_size != sizeof(DeviceExtras)) {
    throw ValueError(str("register_device: needs extras of ", sizeof(DeviceExtras), " bytes, got ",
                         extras->struct_size,
                         "\nhint: build the plug-in with the headers of this version"));
  }
  known[static_cast<int>(type)].store(extras, std::memory_order_release);
}

DeviceDescription describe_device(const char* call, Device device) {
  const DeviceExtras* const extras = extras_of(call, device);
  if (extras == nullptr || extras->describe == nullptr) {
    throw NotImplementedError(str(call, ": the plug-in of ", to_string(device), " does not tell"));
  }
  DeviceDescription description{};
  check_device_call(extras->describe(device.index, &description), call, device);
  return description;
}

void empty_device_cache(Device device) {
  const DeviceExtras* const extras = extras_of("empty_cache", device);
  if (extras == nullptr || extras->empty_cache == nullptr) return;
  check_device_call(extras->empty_cache(device.index), "empty_cache", device);
}

ReservedBytes reserved_device_bytes(Device device) {
  const DeviceExtras* const extras = extras_of("memory_reserved", device);
  if (extras == nullptr || extras->reserved_bytes == nullptr) {
    const DeviceMemoryStats stats = device_memory_stats(device);
    return {static_cast<uint64_t>(stats.live), static_cast<uint64_t>(stats.peak)};
  }
  ReservedBytes bytes{};
  check_device_call(extras->reserved_bytes(device.index, &bytes), "memory_reserved", device);
  return bytes;
}

void reset_peak_reserved_bytes(Device device) {
  const DeviceExtras* const extras = extras_of("reset_peak_memory_stats", device);
  if (extras == nullptr || extras->reset_peak_reserved == nullptr) return;
  check_device_call(extras->reset_peak_reserved(device.index), "reset_peak_memory_stats", device);
}

}  // namespace ebb
