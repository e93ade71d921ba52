// ebb/kernels/cpu/simd/blocks.h -- element-wise loops in blocks of rows and columns.
//
// An operand that lies across the loop (a transposed matrix) has its neighbours in memory one row
// apart. Reading it row by row touches a new cache line for every element; in blocks of 32 rows by
// 16 columns each line is used whole before it is left.
#pragma once

#include <span>

#include "ebb/kernels/cpu/simd/loops.h"

namespace ebb::kernels::cpu {

/// Whether some input lies across the loop over out, and both dims are worth blocks.
bool prefers_blocks(std::span<const TensorView* const> inputs, const TensorView& out);

/// run_rows() in blocks.
void run_blocks(RowFunction row, std::span<const TensorView* const> inputs, const TensorView& out);

}  // namespace ebb::kernels::cpu
