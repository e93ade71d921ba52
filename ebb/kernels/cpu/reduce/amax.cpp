// ebb/kernels/cpu/reduce/amax.cpp -- the largest and the smallest element over any dims.
#include "ebb/kernels/tables/amax.h"

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce_kernel-inl.h"
#include "ebb/kernels/tables/amin.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

template <class Op, typename T>
void set(KernelTable<ReduceKernel>& table) {
  table.set_cpu(dtype_of<T>, &reduce_kernel<Op, T, Finish::plain, false>);
}

template <class Op>
void set_all(KernelTable<ReduceKernel>& table) {
  set<Op, Half>(table);
  set<Op, BFloat16>(table);
  set<Op, float>(table);
  set<Op, double>(table);
  set<Op, uint8_t>(table);
  set<Op, int8_t>(table);
  set<Op, int16_t>(table);
  set<Op, int32_t>(table);
  set<Op, int64_t>(table);
  // bool is stored as 0 or 1: the largest of those is `any`, the smallest is `all`.
  table.set_cpu(DType::boolean, &reduce_kernel<Op, uint8_t, Finish::plain, false>);
}

}  // namespace

void fill_amax() {
  set_all<MaxOp>(amax_kernels);
  set_all<MinOp>(amin_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
