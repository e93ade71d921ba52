// ebb/core/tensor/pinned.h -- memory of the host that a plug-in gives, for copies to its devices.
//
// A pinned tensor is one of the CPU in every respect; only its storage goes back to the plug-in,
// which hands it out again once the copies that read it are done. Copies read pinned memory after
// they return only inside a LateCopyScope: else it may change at once, as any other.
#pragma once

#include <optional>

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/device_extras.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Whether the plug-in of these devices has pinned memory, and devices.
EBB_API bool can_pin(Device device);
/// The device that pin_memory() is for when nobody says which: this thread's default device, else
/// CUDA's, else the first that has pinned memory. Nothing if there is none.
EBB_API std::optional<Device> pinning_device();

/// Whether the tensor's memory is pinned, for devices of the type if one is given.
EBB_API bool is_pinned(const Tensor& tensor, std::optional<DeviceType> type = {});
/// Uninitialised pinned memory in the sizes, dtype and order of dims of a tensor of the host.
/// Throws OutOfMemoryError.
EBB_API Tensor empty_pinned_like(const Tensor& tensor, Device device);

/// What this thread copies from pinned memory to its devices inside the scope may be read after the
/// copy has returned.
class EBB_API LateCopyScope {
 public:
  explicit LateCopyScope(bool is_late);
  ~LateCopyScope();
  LateCopyScope(const LateCopyScope&) = delete;
  LateCopyScope& operator=(const LateCopyScope&) = delete;

 private:
  bool saved_;
};

namespace detail {
/// The plug-in's copy from pinned memory if the tensor may be copied that way now; else null.
decltype(DeviceExtras::copy_from_pinned) late_copy_of(const Tensor& tensor, Device device);
}  // namespace detail

}  // namespace ebb
