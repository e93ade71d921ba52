// ebb/core/device.h -- where memory lives and where work runs: Device, Stream, Layout, Backend.
//
// Only the CPU has kernels so far; the types stand in every storage and input description already,
// because adding them later would touch everything.
#pragma once

#include <cstdint>
#include <string>

#include "ebb/core/export.h"

namespace ebb {

enum class DeviceType : uint8_t { cpu, cuda, pinned, custom };

/// One memory space, such as cpu or cuda:1.
struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = 0;

  friend bool operator==(const Device&, const Device&) = default;
};
static_assert(sizeof(Device) == 2);

/// A queue of work on a device; 0 is the default one (the CPU has no other).
struct Stream {
  Device device;
  uint16_t id = 0;
};

/// How elements are laid out. Channels-last is strides; Opaque is a library's blocked format.
enum class Layout : uint8_t { strided, sparse_coo, sparse_csr, selected_rows, opaque };

/// Who runs a kernel; the order is the priority when operands disagree.
enum class Backend : uint8_t { cpu, cuda, custom };

inline constexpr int kLayoutCount = 5;
inline constexpr int kBackendCount = 3;

constexpr Backend backend_of(Device device) {
  if (device.type == DeviceType::cuda) return Backend::cuda;
  return device.type == DeviceType::custom ? Backend::custom : Backend::cpu;
}

/// "cpu", "cuda:0", ...
EBB_API std::string to_string(Device device);

/// Reads "cpu" or "cuda:1". Throws ValueError for any other text.
EBB_API Device parse_device(const std::string& text);

}  // namespace ebb
