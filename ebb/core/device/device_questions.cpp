// ebb/core/device/device_questions.cpp -- asks plug-ins that tell, and answers for those that do
// not.
#include "ebb/core/device/device_questions.h"

#include "ebb/core/base/error.h"
#include "ebb/core/device/device_block.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb {
namespace {

/// Null if the plug-in has none.
const DeviceExtras* extras_of(const char* call, Device device) {
  plugin_of(call, device);
  return detail::find_extras(device.type);
}

}  // namespace

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

uint64_t convolution_library_of(Device device) {
  const DeviceExtras* const extras = extras_of("convolution_library", device);
  if (extras == nullptr || extras->convolution_library == nullptr) return 0;
  uint64_t version = 0;
  check_device_call(extras->convolution_library(&version), "convolution_library", device);
  return version;
}

}  // namespace ebb
