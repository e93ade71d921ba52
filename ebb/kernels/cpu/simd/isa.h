// ebb/kernels/cpu/simd/isa.h -- which instruction set the CPU kernels use.
//
// Vectorised files are compiled once for each level; register_cpu_kernels() stores the functions of
// one level in the tables. EBB_ISA=baseline|avx2|avx512 caps the level, for tests and for valgrind.
#pragma once

#include <cstdint>
#include <string_view>

#include "ebb/core/base/export.h"

namespace ebb::kernels {

enum class Isa : uint8_t { baseline, avx2, avx512 };

/// "baseline", "avx2" or "avx512".
EBB_API std::string_view name_of(Isa isa);

/// The level in use: the best that this CPU has and EBB_ISA allows, decided on the first call.
/// Throws ValueError if EBB_ISA has another value; the kernels then run as if it were not set.
EBB_API Isa selected_isa();

namespace cpu {

/// The same, except that a wrong EBB_ISA is ignored here.
Isa usable_isa() noexcept;

}  // namespace cpu
}  // namespace ebb::kernels
