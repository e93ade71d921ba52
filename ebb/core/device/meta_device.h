// ebb/core/device/meta_device.h -- the device meta: tensors with everything but elements.
//
// It is a plug-in that ebb brings along; the first that asks for the device registers it. It hands
// out addresses where nothing is: each block has a range of its own, as real ones do, so that
// views, overlaps and counts of bytes (device_memory_stats) are right; whoever reads or writes
// there crashes. No kernel does: for this device each does nothing. See core/tensor/meta.h.
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/meta_type.h"

namespace ebb {
namespace detail {

/// Called once, when meta gets its type: gives it kernels (set by ebb/ops).
extern EBB_API void (*prepare_meta)(Backend backend);

}  // namespace detail

/// The type of meta. Throws ValueError if other plug-ins have taken all places.
EBB_API DeviceType meta_device_type();

}  // namespace ebb
