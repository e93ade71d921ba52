// ebb/devices/launch/plugin.h -- the structs of functions that ebb calls (docs/devices.md), made of
// a back end's functions.
//
// A back end writes them as static functions of a struct `Own`, under the names of DevicePlugin's
// members and with their arguments; they return nothing and throw. guarded() makes a status and a
// text of that. `Own` derives from CommonFunctions, which has those that all back ends share.
#pragma once

#include <exception>
#include <string>

#include "ebb/core/device/device_extras.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/launch/base_device.h"
#include "ebb/devices/launch/driver.h"
#include "ebb/devices/launch/failure.h"
#include "ebb/devices/launch/fork.h"
#include "ebb/devices/launch/memory_pool.h"
#include "ebb/devices/launch/staging_pool.h"

namespace ebb::devices {

/// The text of this thread's last failure.
std::string& last_failure();

template <auto function>
struct Guarded;
template <typename... Arguments, void (*function)(Arguments...)>
struct Guarded<function> {
  static int call(Arguments... arguments) {
    try {
      refuse_fork();
      function(arguments...);
      return 0;
    } catch (const NoMemory& failure) {
      last_failure() = failure.what();
      return kNoMemoryLeft;
    } catch (const std::exception& failure) {
      last_failure() = failure.what();
      return 1;
    }
  }
};
/// `function` as a plain function with a status, not 0, and a text for last_error(), if it throws.
template <auto function>
constexpr auto* guarded = &Guarded<function>::call;

/// The pool that lends pinned memory for all devices: that of the first. Needs a device: ebb asks
/// for such memory only where there is one.
StagingPool& pinned_pool();

/// What follows from driver() and the device's pools.
struct CommonFunctions {
  static const char* last_error();
  static void allocate(int device, size_t bytes, NativeStream stream, void** memory) {
    *memory = driver().device_at(device).memory->take(bytes, stream);
  }
  static void deallocate(int device, void* memory, size_t bytes, NativeStream stream) {
    driver().device_at(device).memory->give(memory, bytes, stream);
  }
  static void describe(int device, DeviceDescription* description);
  static void empty_cache(int device);
  static void reserved_bytes(int device, ReservedBytes* bytes);
  static void reset_peak_reserved(int device);
  static void allocate_pinned(size_t bytes, void** memory);
  static void release_pinned(void* memory);
  static void convolution_library(uint64_t* version) { *version = 0; }
};

template <typename Own>
constexpr DevicePlugin plugin_struct(const char* name) {
  return {.abi_version = kDeviceAbiVersion,
          .struct_size = sizeof(DevicePlugin),
          .name = name,
          .device_count = guarded<&Own::device_count>,
          .last_error = &Own::last_error,
          .allocate = guarded<&Own::allocate>,
          .deallocate = guarded<&Own::deallocate>,
          .memory_info = guarded<&Own::memory_info>,
          .copy_to_device = guarded<&Own::copy_to_device>,
          .copy_to_host = guarded<&Own::copy_to_host>,
          .copy_on_device = guarded<&Own::copy_on_device>,
          .fill = guarded<&Own::fill>,
          .default_stream = guarded<&Own::default_stream>,
          .create_stream = guarded<&Own::create_stream>,
          .synchronize_stream = guarded<&Own::synchronize_stream>,
          .query_stream = guarded<&Own::query_stream>,
          .create_event = guarded<&Own::create_event>,
          .destroy_event = guarded<&Own::destroy_event>,
          .record_event = guarded<&Own::record_event>,
          .wait_event = guarded<&Own::wait_event>,
          .query_event = guarded<&Own::query_event>,
          .synchronize_event = guarded<&Own::synchronize_event>};
}

template <typename Own>
constexpr DeviceExtras extras_struct() {
  return {.struct_size = sizeof(DeviceExtras),
          .describe = guarded<&Own::describe>,
          .empty_cache = guarded<&Own::empty_cache>,
          .reserved_bytes = guarded<&Own::reserved_bytes>,
          .reset_peak_reserved = guarded<&Own::reset_peak_reserved>,
          .allocate_pinned = guarded<&Own::allocate_pinned>,
          .release_pinned = guarded<&Own::release_pinned>,
          .copy_from_pinned = guarded<&Own::copy_from_pinned>,
          .convolution_library = guarded<&Own::convolution_library>};
}

/// Copies as memmove() does by `copy(to, from)`, which may not be given ranges that overlap: those
/// go by way of a block in between.
template <typename Copy>
void copy_within(MemoryPool& memory, NativeStream stream, void* to, const void* from, size_t bytes,
                 const Copy& copy) {
  const auto distance = static_cast<const char*>(to) - static_cast<const char*>(from);
  const auto length = static_cast<ptrdiff_t>(bytes);
  if (distance == 0) return;
  if (distance >= length || distance <= -length) return copy(to, from);
  const PoolBlock between(memory, bytes, stream);
  copy(between.data(), from);
  copy(to, between.data());
}

}  // namespace ebb::devices
