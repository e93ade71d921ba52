// ebb/kernels/cpu/reduce/reduce.cpp -- sum and mean over any dims.
//
// Complex numbers are summed as pairs of real ones, half types in float32.
#include "ebb/kernels/cpu/simd/register.h"
#include "ebb/kernels/cpu/simd/simd.h"
#include "ebb/kernels/tables/mean.h"
#include "ebb/kernels/tables/sum.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/reduce/reduce.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/reduce/reduce_kernel-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class Op, Finish finish, typename T>
void set(KernelTable<ReduceKernel>& table) {
  table.set_cpu(dtype_of<T>, &reduce_kernel<Op, T, finish, false>);
}

template <class Op, Finish finish>
void set_floats(KernelTable<ReduceKernel>& table) {
  set<Op, finish, Half>(table);
  set<Op, finish, BFloat16>(table);
  set<Op, finish, float>(table);
  set<Op, finish, double>(table);
}

template <Finish finish>
void set_complex(KernelTable<ReduceKernel>& table) {
  table.set_cpu(DType::complex64, &reduce_kernel<SumOp, float, finish, true>);
  table.set_cpu(DType::complex128, &reduce_kernel<SumOp, double, finish, true>);
}

void fill_tables() {
  set_floats<SumOp, Finish::plain>(sum_kernels);
  set_complex<Finish::plain>(sum_kernels);
  set<SumOp, Finish::plain, int64_t>(sum_kernels);
  set_floats<SumOp, Finish::mean>(mean_kernels);
  set_complex<Finish::mean>(mean_kernels);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
void fill_reduce(Isa isa) { EBB_CALL_FOR_ISA(isa, fill_tables()); }
}  // namespace ebb::kernels::cpu
#endif
