// ebb/kernels/cpu/amax.cpp -- the largest element over any dims.
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/simd.h"
#include "ebb/kernels/tables.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/amax.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/reduce_kernel-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void set() {
  amax_kernels.set_cpu(dtype_of<T>, &reduce_kernel<MaxOp, T, Finish::plain, false>);
}

void fill_tables() {
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
  set<uint8_t>();
  set<int8_t>();
  set<int16_t>();
  set<int32_t>();
  set<int64_t>();
  // bool is stored as 0 or 1, and the largest of those is `any`.
  amax_kernels.set_cpu(DType::boolean, &reduce_kernel<MaxOp, uint8_t, Finish::plain, false>);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
void fill_amax(Isa isa) { EBB_CALL_FOR_ISA(isa, fill_tables()); }
}  // namespace ebb::kernels::cpu
#endif
