// tests/device/sim_memory.h -- the tag in addresses of the simulated device.
//
// An x86-64 or AArch64 address with bit 62 set and bit 63 clear is not canonical: the CPU faults at
// it. Adding offsets works as for any other.
#pragma once

#include <cstdint>

namespace ebb::sim {

inline constexpr uintptr_t kTag = uintptr_t{1} << 62;

inline void* tagged(void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) | kTag);
}
inline void* untagged(const void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) & ~kTag);
}

}  // namespace ebb::sim
