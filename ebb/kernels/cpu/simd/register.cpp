// ebb/kernels/cpu/simd/register.cpp -- fills the tables once.
//
// `name.cpp` stores its kernels in fill_name(); a file that is compiled once per target
// (each_target.h) has one such function in the namespace of each. The build lists both kinds, from
// the sources in CMakeLists.txt (list_fills.cmake).
#include "ebb/kernels/cpu/simd/register.h"

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/fills.h"
#include "hwy/highway.h"

#define EBB_DECLARE(name) void fill_##name();
#define EBB_NAME(name) fill_##name,

namespace ebb::kernels::cpu::HWY_NAMESPACE {

using Fill = void();
EBB_VECTORISED_FILLS(EBB_DECLARE)
constexpr Fill* kVectorised[] = {EBB_VECTORISED_FILLS(EBB_NAME)};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace ebb::kernels {
namespace cpu {

using Fill = void();
EBB_PLAIN_FILLS(EBB_DECLARE)
constexpr Fill* kPlain[] = {EBB_PLAIN_FILLS(EBB_NAME)};

void fill_tables() {
  for (Fill* fill : EBB_CALL_FOR_ISA(usable_isa(), kVectorised)) fill();
  for (Fill* fill : kPlain) fill();
}

}  // namespace cpu

void register_cpu_kernels() noexcept {
  // No std::call_once(): it reads thread-locals of libstdc++, for which a program that has loaded
  // that library long before, and much else, has no room in the static block.
  [[maybe_unused]] static const bool is_filled = (cpu::fill_tables(), true);
}

}  // namespace ebb::kernels
#endif
