// ebb/kernels/cpu/pointwise/finite.h -- whether a flat array holds NaN or infinities.
//
// For the checks of every op and gradient: one pass at the speed of reading, on the calling thread.
#pragma once

#include <cstdint>

#include "ebb/core/base/dtype.h"

namespace ebb::kernels::cpu {

/// Whether any of `count` numbers of a floating or complex dtype is NaN or, unless `only_nan`,
/// infinite.
bool has_non_finite(DType dtype, const void* data, int64_t count, bool only_nan);

}  // namespace ebb::kernels::cpu
