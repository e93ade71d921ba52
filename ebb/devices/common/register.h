// ebb/devices/common/register.h -- puts all kernels of this room into ebb's tables.
#pragma once

#include "ebb/core/device/device.h"
#include "ebb/devices/launch/driver.h"

namespace ebb::devices {

/// Called once, when a back end is loaded: its devices are of `type`. A family of kernels adds a
/// function here.
void register_kernels(DeviceType type, Driver& driver);

}  // namespace ebb::devices
