// ebb/core/device/meta_type.h -- which device is meta: its tensors have no elements.
#pragma once

#include <atomic>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"

namespace ebb {
namespace detail {

/// The DeviceType of meta; no type while nobody has asked for it (set by meta_device.cpp).
extern EBB_API std::atomic<uint8_t> meta_type;

}  // namespace detail

/// Whether tensors there have no elements.
inline bool is_meta(Device device) {
  return static_cast<uint8_t>(device.type) == detail::meta_type.load(std::memory_order_relaxed);
}

}  // namespace ebb
