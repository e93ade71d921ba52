// ebb/devices/launch/traits.h -- what a device can do, as far as kernels are concerned.
#pragma once

#include <cstdint>

namespace ebb::devices {

/// What kernels are tuned by.
struct Traits {
  bool has_float64 = false;
  bool is_cpu = false;        // a work group runs as a loop on one core
  uint32_t group_size = 256;  // items of a group of pointwise kernels
  uint32_t units = 1;         // groups that run at the same time, roughly
  uint32_t lanes = 4;         // floats of a vector register, on CPUs: 4, 8 or 16
};

}  // namespace ebb::devices
