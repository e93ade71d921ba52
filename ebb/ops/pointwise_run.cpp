// ebb/ops/pointwise_run.cpp -- pointwise ops off the straight path.
#include "ebb/ops/pointwise_run.h"

#include <string_view>
#include <vector>

#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/ops/fallback.h"

namespace ebb::ops {
namespace {

using kernels::BinaryKernel;
using kernels::KernelTable;
using kernels::UnaryKernel;
using kernels::WhereKernel;

void call(UnaryKernel kernel, const kernels::Context& context, const Prepared& operands,
          const Tensor& out) {
  kernel(context, operands.view(0), view_of(out));
}
void call(BinaryKernel kernel, const kernels::Context& context, const Prepared& operands,
          const Tensor& out) {
  kernel(context, operands.view(0), operands.view(1), view_of(out));
}
void call(WhereKernel kernel, const kernels::Context& context, const Prepared& operands,
          const Tensor& out) {
  kernel(context, operands.view(0), operands.view(1), operands.view(2), view_of(out));
}

void call(UnaryKernel kernel, const kernels::Context& context, std::span<const Operand> operands,
          const Tensor& out) {
  kernel(context, view_of(*operands[0].tensor), view_of(out));
}
void call(BinaryKernel kernel, const kernels::Context& context, std::span<const Operand> operands,
          const Tensor& out) {
  kernel(context, view_of(*operands[0].tensor), view_of(*operands[1].tensor), view_of(out));
}
void call(WhereKernel kernel, const kernels::Context& context, std::span<const Operand> operands,
          const Tensor& out) {
  kernel(context, view_of(*operands[0].tensor), view_of(*operands[1].tensor),
         view_of(*operands[2].tensor), view_of(out));
}

template <typename Function>
Function find(const KernelTable<Function>& table, const Prepared& operands) {
  return table.find({backend_of(operands.device()), Layout::strided, operands.dtype()});
}

/// Tells a device what the kernel will use.
void note_operands(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.tensor != nullptr) note_use(*operand.tensor);
  }
}

/// Where the op runs.
kernels::Context context_for(const Prepared& prepared, std::span<const Operand> operands) {
  if (prepared.device() == Device{}) [[likely]]
    return {};
  note_operands(operands);
  return context_on(prepared.device());
}

/// Whether the operands are contiguous tensors of one device, dtype and geometry, and the result is
/// one more: nothing has to be inferred or converted then. (The CPU's straight path is inline.)
bool are_alike_elsewhere(const PointwiseRule& rule, std::span<const Operand> operands) {
  if (rule.result != ResultRule::same || operands[0].tensor == nullptr) return false;
  const TensorImpl* const lead = operands[0].tensor->impl();
  if (lead == nullptr || is_on_host(lead->device) || is_hidden(lead->device)) return false;
  if (rule.dtype == DTypeRule::promote_float && !is_differentiable(lead->dtype)) return false;
  if (!lead->is_contiguous() || operands[0].is_condition) return false;
  uint32_t accepted = operands[0].accepted;
  for (const Operand& operand : operands.subspan(1)) {
    const TensorImpl* const impl = operand.tensor != nullptr ? operand.tensor->impl() : nullptr;
    if (impl == nullptr || operand.is_condition || !has_geometry_of(*lead, *impl)) return false;
    accepted &= operand.accepted;
  }
  return (accepted >> static_cast<int>(lead->dtype) & 1u) != 0;
}

/// The op on operands that are alike; undefined if their device has no kernel for it.
template <typename Function>
Tensor run_alike(const KernelTable<Function>& table, std::span<const Operand> operands) {
  const Tensor& lead = *operands[0].tensor;
  const TensorImpl& impl = *lead.impl();
  const Function kernel = table.find({backend_of(impl.device), Layout::strided, impl.dtype});
  if (kernel == nullptr) return {};
  Tensor out = empty_like(lead, impl.dtype);
  const kernels::Context context = context_on(impl.device);
  for (const Operand& operand : operands) note_use_on(context.stream, *operand.tensor);
  call(kernel, context, operands, out);
  return out;
}

/// Runs the kernel into `out`, which was checked. Finds all kernels before it writes.
template <typename Function>
void run_prepared_into(const PointwiseRule& rule, const KernelTable<Function>& table,
                       Prepared& prepared, const Tensor& out) {
  const Function kernel = find(table, prepared);
  if (kernel == nullptr) throw_no_kernel(rule.op, prepared.dtype(), prepared.device());
  prepared.materialize();
  const kernels::Context context = context_on(prepared.device());
  if (prepared.out_dtype() == out.dtype()) {
    prepared.separate_from(out);
    call(kernel, context, prepared, out);
    return;
  }
  const Tensor result = empty(prepared.shape(), prepared.out_dtype(), prepared.device());
  const auto convert = kernel_for(rule.op, kernels::cast_kernels, result);
  call(kernel, context, prepared, result);
  convert(context, view_of(result), view_of(out));
}

/// Copies of operands in memory of the CPU.
class HostOperands {
 public:
  HostOperands(const CpuFallback& fallback, std::span<const Operand> operands)
      : copies_(operands.size()), operands_(operands.begin(), operands.end()) {
    for (size_t index = 0; index < operands.size(); ++index) {
      if (operands[index].tensor == nullptr) continue;
      copies_[index] = fallback.to_cpu(*operands[index].tensor);
      operands_[index].tensor = &copies_[index];
    }
  }
  std::span<const Operand> all() const { return operands_; }

 private:
  std::vector<Tensor> copies_;
  std::vector<Operand> operands_;
};

/// The op on CPU copies of the operands, for a device that has no kernel of its own.
template <typename Function>
Tensor run_on_cpu(const PointwiseRule& rule, const KernelTable<Function>& table,
                  std::span<const Operand> operands, const Prepared& prepared) {
  const bool is_final = prepared.device() == Device{} || is_meta(prepared.device());
  if (is_final) throw_no_kernel(rule.op, prepared.dtype(), Device{});
  const CpuFallback fallback(rule.op, prepared.dtype(), prepared.device());
  const HostOperands on_cpu(fallback, operands);
  Prepared again(rule, on_cpu.all());
  const Function kernel = find(table, again);
  if (kernel == nullptr) throw_no_kernel(rule.op, prepared.dtype(), prepared.device());
  again.materialize();
  const Tensor out = again.make_out();
  call(kernel, kCpuContext, again, out);
  return fallback.to_device(out);
}

/// The same into `out`, which is on the device.
template <typename Function>
void run_on_cpu_into(const PointwiseRule& rule, const KernelTable<Function>& table,
                     std::span<const Operand> operands, const Tensor& out) {
  const CpuFallback fallback(rule.op, out.dtype(), out.device());
  const HostOperands on_cpu(fallback, operands);
  const Tensor host = fallback.to_cpu(out);
  Prepared prepared(rule, on_cpu.all());
  run_prepared_into(rule, table, prepared, host);
  fallback.write_back(host, out);
}

void check_target(const PointwiseRule& rule, const Prepared& prepared, const char* name,
                  const Tensor& out) {
  if (!out.defined()) {
    throw ValueError(str(rule.op, ": '", name, "' must be a tensor, got an undefined one"));
  }
  require_strided(rule.op, name, out);
  if (out.device() != prepared.device()) {
    throw ValueError(str(rule.op, ": all operands must be on one device, got ",
                         to_string(prepared.device()), " and ", to_string(out.device())));
  }
  if (kind_of(prepared.out_dtype()) > kind_of(out.dtype())) {
    throw DTypeError(str(rule.op, ": result type ", prepared.out_dtype(),
                         " can't be cast to the type of '", name, "', ", out.dtype(),
                         naming_of(out)));
  }
  if (rule.result == ResultRule::real && is_complex(prepared.dtype()) &&
      std::string_view(name) == "self") {
    throw DTypeError(str(rule.op, ": 'self' must be real, as the result is, got ", out.dtype(),
                         naming_of(out), "\nhint: use the out-of-place form of that op"));
  }
  if (!equal(prepared.shape(), out.sizes())) {
    throw ShapeError(str(rule.op, ": '", name, "' must have the broadcast shape ", prepared.shape(),
                         ", got ", describe_shape(out)));
  }
  check_writable(rule.op, out);
}

template <typename Function>
[[gnu::noinline]] Tensor run_any(const PointwiseRule& rule, const KernelTable<Function>& table,
                                 std::span<const Operand> all) {
  Prepared prepared(rule, all);
  const Function kernel = find(table, prepared);
  if (kernel == nullptr) return run_on_cpu(rule, table, all, prepared);
  prepared.materialize();
  Tensor out = prepared.make_out();
  call(kernel, context_for(prepared, all), prepared, out);
  return out;
}

}  // namespace

template <typename Function>
Tensor run_pointwise(const PointwiseRule& rule, const KernelTable<Function>& table,
                     std::initializer_list<Operand> operands) {
  const std::span<const Operand> all(operands.begin(), operands.size());
  if (are_alike_elsewhere(rule, all)) {
    Tensor out = run_alike(table, all);
    if (out.defined()) return out;
  }
  return run_any(rule, table, all);
}

template <typename Function>
void run_pointwise_into(const PointwiseRule& rule, const KernelTable<Function>& table,
                        std::initializer_list<Operand> operands, const char* name,
                        const Tensor& out) {
  const std::span<const Operand> all(operands.begin(), operands.size());
  Prepared prepared(rule, all);
  check_target(rule, prepared, name, out);
  if (prepared.device() == Device{}) {
    run_prepared_into(rule, table, prepared, out);
  } else {
    note_operands(all);
    note_use(out);
    try {
      run_prepared_into(rule, table, prepared, out);
    } catch (const MissingKernel&) {
      run_on_cpu_into(rule, table, all, out);
      return;
    }
  }
  note_write(rule.op, out);
}

#define EBB_INSTANTIATE(Function)                                                      \
  template Tensor run_pointwise(const PointwiseRule&, const KernelTable<Function>&,    \
                                std::initializer_list<Operand>);                       \
  template void run_pointwise_into(const PointwiseRule&, const KernelTable<Function>&, \
                                   std::initializer_list<Operand>, const char*, const Tensor&)
EBB_INSTANTIATE(UnaryKernel);
EBB_INSTANTIATE(BinaryKernel);
EBB_INSTANTIATE(WhereKernel);
#undef EBB_INSTANTIATE

}  // namespace ebb::ops
