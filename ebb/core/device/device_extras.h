// ebb/core/device/device_extras.h -- what a plug-in may tell beside what every device needs.
//
// A library that exports `ebb_device_extras` gives a second struct of functions, found when it is
// loaded; each of them may be null. They return 0, or another number for a failure that the
// plug-in's last_error() describes.
#pragma once

#include <cstddef>
#include <cstdint>

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

  // Memory of the host that copies to the plug-in's devices are made from without another in
  // between; all three functions or none. Aligned to 64 bytes.
  int (*allocate_pinned)(size_t bytes, void** memory);
  // Takes it back: nobody else gets it before the copies that read it are done.
  int (*release_pinned)(void* memory);
  // As copy_to_device(), from within such memory, which may be read after the call returns.
  int (*copy_from_pinned)(int device, void* to, const void* from, size_t bytes, void* stream);

  // The version of the library that convolutions are given to, as it counts itself; 0 where none
  // was found. Looks for it.
  int (*convolution_library)(uint64_t* version);
};

/// The type of the function: extern "C" and exported by the library.
using DeviceExtrasEntry = const DeviceExtras* (*)();

namespace detail {
/// Keeps what a plug-in exports, before its devices are used; null is nothing. Throws ValueError
/// for a struct of another size.
void note_extras(DeviceType type, const DeviceExtras* extras);
/// Null if the plug-in has none.
const DeviceExtras* find_extras(DeviceType type);
}  // namespace detail
}  // namespace ebb
