// ebb/kernels/cpu/pointwise/cast.h -- rows converted with the instructions of the level in use.
//
// For loops that are compiled once only (comparisons, running sums): they take half types as
// float32, tile by tile, through these.
#pragma once

#include "ebb/kernels/cpu/simd/loops.h"

namespace ebb::kernels::cpu {

/// What converts dense elements of `from` to `to`; known once fill_cast() has run.
RowFunction cast_row(DType from, DType to);

}  // namespace ebb::kernels::cpu
