// ebb/kernels/cpu/simd/register.h -- stores the CPU kernels in the tables.
#pragma once

#include "ebb/core/base/export.h"

namespace ebb::kernels {

/// Fills the tables for the best usable instruction set. Only the first call does anything; safe
/// to call from several threads and from static initialisers.
EBB_API void register_cpu_kernels() noexcept;

}  // namespace ebb::kernels
