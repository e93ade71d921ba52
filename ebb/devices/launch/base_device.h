// ebb/devices/launch/base_device.h -- what a device of any back end has; back ends add handles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ebb/devices/launch/memory_pool.h"
#include "ebb/devices/launch/staging_pool.h"
#include "ebb/devices/launch/traits.h"

namespace ebb::devices {

/// One device. Lives as long as the process.
struct BaseDevice {
  std::string name;
  int major = 0;  // the version of its instructions; 0 if it has none
  int minor = 0;
  int units = 0;  // multiprocessors, or compute units
  Traits traits;
  uint64_t total_bytes = 0;
  std::unique_ptr<MemoryPool> memory;    // blocks are kept by the NativeStream they were taken on
  std::unique_ptr<StagingPool> staging;  // of the host, for copies to the device
};

}  // namespace ebb::devices
