// ebb/core/device/device_extras.h -- what a plug-in may tell beside what every device needs.
//
// A library that exports `ebb_device_extras` gives a second struct of functions, found when it is
// loaded; each of them may be null. They return 0, or another number for a failure that the
// plug-in's last_error() describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ebb/core/device/device.h"

namespace ebb {

/// What a device is.
struct DeviceDescription {
  char name[256];
  int32_t major;  // the version of its instructions; 0 if it has none
  int32_t minor;
  int32_t units;  // multiprocessors, or compute units
};

/// Bytes that a plug-in holds of a device, in tensors or for the next ones.
struct ReservedBytes {
  uint64_t now;
  uint64_t peak;
};

struct DeviceExtras {
  uint32_t struct_size;  // sizeof(DeviceExtras)
  int (*describe)(int device, DeviceDescription* description);
  // Gives memory that no tensor uses back to the device.
  int (*empty_cache)(int device);
  int (*reserved_bytes)(int device, ReservedBytes* bytes);
  int (*reset_peak_reserved)(int device);
};

/// The type of the function: extern "C" and exported by the library.
using DeviceExtrasEntry = const DeviceExtras* (*)();

/// Throws ValueError unless the device is there, NotImplementedError, naming `call`, if its plug-in
/// does not tell.
EBB_API DeviceDescription describe_device(const char* call, Device device);
/// Does nothing where the plug-in keeps no memory.
EBB_API void empty_device_cache(Device device);
/// What tensors hold where the plug-in does not tell.
EBB_API ReservedBytes reserved_device_bytes(Device device);
EBB_API void reset_peak_reserved_bytes(Device device);

namespace detail {
/// Called once per plug-in, before its devices are used.
void note_extras(DeviceType type, const DeviceExtras* extras);
}  // namespace detail
}  // namespace ebb
