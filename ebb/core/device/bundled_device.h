// ebb/core/device/bundled_device.h -- plug-ins that come with ebb: opencl.
//
// Their libraries, such as libebb_opencl.so, lie beside libebb.so and are loaded when a program
// first names the device, so that nobody else loads drivers.
#pragma once

#include <string_view>

namespace ebb::detail {

/// Loads the plug-in that brings the device `name`, if it is one of ebb's own, its library is there
/// and it was not loaded before. Throws what load_device_plugin() throws, and ValueError where the
/// library of such a device is missing. Programs ask for CUDA to learn whether it is there: where
/// its driver cannot start they are warned, once, and there is none.
void load_bundled_plugin(std::string_view name);

}  // namespace ebb::detail
