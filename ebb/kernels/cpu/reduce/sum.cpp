// ebb/kernels/cpu/reduce/sum.cpp -- sum and mean over any dims.
//
// Complex numbers are summed as pairs of real ones, half types in float32.
#include "ebb/kernels/tables/sum.h"

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce_kernel-inl.h"
#include "ebb/kernels/tables/mean.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
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

}  // namespace

void fill_sum() {
  set_floats<SumOp, Finish::plain>(sum_kernels);
  set_complex<Finish::plain>(sum_kernels);
  set<SumOp, Finish::plain, int64_t>(sum_kernels);
  set_floats<SumOp, Finish::mean>(mean_kernels);
  set_complex<Finish::mean>(mean_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
