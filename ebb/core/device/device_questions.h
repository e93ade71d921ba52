// ebb/core/device/device_questions.h -- what a device is called and keeps, asked of its plug-in
// (device_extras.h).
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/device/device_extras.h"

namespace ebb {

/// Throws ValueError unless the device is there, NotImplementedError, naming `call`, if its plug-in
/// does not tell.
EBB_API DeviceDescription describe_device(const char* call, Device device);
/// Does nothing where the plug-in keeps no memory.
EBB_API void empty_device_cache(Device device);
/// What tensors hold where the plug-in does not tell.
EBB_API ReservedBytes reserved_device_bytes(Device device);
EBB_API void reset_peak_reserved_bytes(Device device);
/// The version of the library that the plug-in gives convolutions to; 0 if it has none.
EBB_API uint64_t convolution_library_of(Device device);

}  // namespace ebb
