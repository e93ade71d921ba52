// ebb/core/device/device.h -- where memory lives and where work runs: Device, Stream, Layout,
// Backend.
//
// The CPU is always there. Every other kind of device comes from a plug-in (device_plugin.h), which
// also gives it its name; streams are in stream.h.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "ebb/core/base/export.h"

namespace ebb {

/// The kinds of device. A plug-in named "cuda" serves `cuda`; any other gets one of the custom
/// kinds.
enum class DeviceType : uint8_t { cpu, cuda, pinned, custom, second_custom };

inline constexpr int kDeviceTypeCount = 5;
inline constexpr int kMaxDevices = 128;  // of one type

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

  friend bool operator==(const Stream&, const Stream&) = default;
};

/// How elements are laid out. Channels-last is strides; Opaque is a library's blocked format.
enum class Layout : uint8_t { strided, sparse_coo, sparse_csr, selected_rows, opaque };

/// Who runs a kernel; the order is the priority when operands disagree.
enum class Backend : uint8_t { cpu, cuda, custom, second_custom };

inline constexpr int kLayoutCount = 5;
inline constexpr int kBackendCount = 4;

constexpr Backend backend_of(DeviceType type) {
  constexpr Backend kBackends[kDeviceTypeCount] = {Backend::cpu, Backend::cuda, Backend::cpu,
                                                   Backend::custom, Backend::second_custom};
  return kBackends[static_cast<int>(type)];
}
constexpr Backend backend_of(Device device) { return backend_of(device.type); }

/// Where no kernel is sent: what stands in TensorImpl::device for elements that do not lie in plain
/// strided memory (sparse.h). It equals no device, so that whatever looks where an operand is
/// before it reads, as all ops do, leaves its straight path there; nobody else pays for the
/// question.
constexpr Device hidden(Device device) {
  return {device.type, static_cast<int8_t>(device.index < 0 ? device.index : ~device.index)};
}
/// The device that hidden() got; any other as it is.
constexpr Device revealed(Device device) {
  return {device.type, static_cast<int8_t>(device.index ^ (device.index >> 7))};
}
constexpr bool is_hidden(Device device) { return device.index < 0; }

/// Whether kernels of the CPU can read memory there.
constexpr bool is_on_host(Device device) {
  // Of a type that the CPU reads, and not hidden, in one test: the index is the upper byte.
  constexpr uint16_t kElsewhere = 0xffff ^ static_cast<uint16_t>(DeviceType::pinned) ^ 0x7f00;
  return (std::bit_cast<uint16_t>(device) & kElsewhere) == 0;
}
static_assert(std::endian::native == std::endian::little);
static_assert(is_on_host({DeviceType::cpu, 0}) && is_on_host({DeviceType::pinned, 3}));
static_assert(!is_on_host({DeviceType::cuda, 0}) && !is_on_host({DeviceType::custom, 1}));
static_assert(!is_on_host({DeviceType::second_custom, 0}) && !is_on_host(hidden({})));

/// "cpu", "cuda:0", "sim:1": a plug-in's devices have its name.
EBB_API std::string to_string(Device device);

/// Reads "cpu", "cuda:1", or the name of a plug-in's device. Throws ValueError for any other text.
/// The device need not be there: see plugin_of().
EBB_API Device parse_device(const std::string& text);

}  // namespace ebb
