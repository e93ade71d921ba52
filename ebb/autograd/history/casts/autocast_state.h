// ebb/autograd/history/casts/autocast_state.h -- setting what autocast does without a block.
//
// Each function holds on its thread until the block ends that it was called in, outside of blocks
// until another call.
#pragma once

#include "ebb/core/base/dtype.h"
#include "ebb/core/device/device.h"

namespace ebb {

EBB_API void set_autocast_enabled(DeviceType device, bool enabled);
/// Throws DTypeError for a dtype that is not float16 or bfloat16.
EBB_API void set_autocast_dtype(DeviceType device, DType dtype);
EBB_API void set_autocast_cache_enabled(bool enabled);
/// Drops the casts of weights that are kept.
EBB_API void clear_autocast_cache() noexcept;

}  // namespace ebb
