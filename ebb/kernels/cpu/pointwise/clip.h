// ebb/kernels/cpu/pointwise/clip.h -- norms of flat arrays, and scaling and clamping them in place.
//
// For gradients before a step. Sums are kept in float64, so squares of float32 cannot overflow.
// All run on the calling thread.
#pragma once

#include <cstdint>

#include "ebb/core/base/dtype.h"

namespace ebb::kernels::cpu {

/// Sum of |x|^power over `count` numbers of any floating or complex dtype.
double sum_of_powers(DType dtype, const void* data, int64_t count, double power);
/// Largest |x|; NaN if there is one.
double largest_magnitude(DType dtype, const void* data, int64_t count);

/// Multiplies numbers of a floating dtype in place.
void scale_in_place(DType dtype, void* data, int64_t count, double factor);
/// Moves numbers of a floating dtype into [-limit, limit] in place; NaN stays.
void clamp_in_place(DType dtype, void* data, int64_t count, double limit);

}  // namespace ebb::kernels::cpu
