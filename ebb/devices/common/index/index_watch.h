// ebb/devices/common/index/index_watch.h -- looks at indices and ranges on the device:
// ebb/kernels/index_watch.h.
#pragma once

#include "ebb/kernels/index_watch.h"

namespace ebb::devices {

void run_index_watch(const kernels::Context& context, const kernels::TensorView& index, int64_t low,
                     int64_t high, const int64_t* ignored, const ebb::detail::CheckSlot& slot);
void run_range_watch(const kernels::Context& context, const kernels::TensorView& input, double low,
                     double high, const ebb::detail::CheckSlot& slot);

}  // namespace ebb::devices
