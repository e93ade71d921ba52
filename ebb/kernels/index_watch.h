// ebb/kernels/index_watch.h -- how a device looks at indices, and at the range of numbers, by
// itself, in the order of its stream.
//
// The CPU's kernels throw as they read (checked_index.h). A device's skip what is out of range, and
// before them runs this kernel, which tells what it finds (ebb/core/device/stream_checks.h).
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// Queues a look at `index`, int64 with any strides: the first position, row-major, whose number is
/// neither in [low, high) nor `*ignored` (if that is not null) goes to the slot's word with its
/// number, unless something stands there.
using IndexWatch = void (*)(const Context&, const TensorView& index, int64_t low, int64_t high,
                            const int64_t* ignored, const ebb::detail::CheckSlot& slot);

/// That of a backend, set when its plug-in is loaded. Null: indices are copied to the host.
EBB_API IndexWatch& index_watch(Backend backend);

/// The same for real numbers of any strides and floating dtype: the first that is not in [low,
/// high], as NaN is not. Throws MissingKernel for a dtype that the device lacks.
using RangeWatch = void (*)(const Context&, const TensorView& input, double low, double high,
                            const ebb::detail::CheckSlot& slot);
EBB_API RangeWatch& range_watch(Backend backend);

}  // namespace ebb::kernels
