// ebb/kernels/cpu/gemm/half_gemm.h -- products of half types summed in float32.
#pragma once

#include "ebb/kernels/cpu/gemm/gemm.h"

namespace ebb::kernels::cpu {

/// C = A B, plus `bias` (n elements, or null) in every row, of float16 or bfloat16: summed in
/// float32 and rounded once. Panels of the operands are widened, never all of them.
void half_gemm(DType dtype, const Gemm& args, const void* bias);

}  // namespace ebb::kernels::cpu
