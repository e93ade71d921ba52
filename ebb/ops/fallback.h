// ebb/ops/fallback.h -- what happens where a device has no kernel for an op.
//
// The operands are copied to the CPU, the op runs there, and what it made or wrote is copied back.
// That is said once per op, as a warning, and can be refused. Generated code asks is_elsewhere()
// and then calls run_elsewhere(), which tries the device first.
#pragma once

#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/kernel_table.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops {

/// Whether a missing kernel may be replaced by the CPU's; on by default (EBB_KERNEL_FALLBACK=0
/// switches it off). Per process.
EBB_API bool is_kernel_fallback_enabled();
EBB_API void set_kernel_fallback(bool enabled);
/// For tests: warns again of ops that were warned of.
EBB_API void forget_fallback_warnings();

/// Whether the op that `tensor` is the first operand of runs anywhere but on the CPU.
inline bool is_elsewhere(const Tensor& tensor) {
  return tensor.defined() && tensor.impl()->device != Device{};
}
inline bool is_elsewhere(std::span<const Tensor> tensors) {
  return !tensors.empty() && is_elsewhere(tensors[0]);
}

/// Whether the tensor's device has a kernel of its own in the table.
template <typename Function>
bool has_kernel(const kernels::KernelTable<Function>& table, const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return table.find({backend_of(impl.device), impl.layout, impl.dtype}) != nullptr;
}

/// Notes that the op uses the tensors among its arguments on their devices' current streams.
template <typename Argument>
void note_argument(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, Tensor>) {
    note_use(argument);
  } else if constexpr (std::is_convertible_v<const Argument&, std::span<const Tensor>>) {
    for (const Tensor& tensor : std::span<const Tensor>(argument)) note_use(tensor);
  }
}
template <typename... Arguments>
void note_arguments(const Arguments&... arguments) {
  (note_argument(arguments), ...);
}

/// One use of the fallback. The constructor warns, or throws NotImplementedError where fallback is
/// switched off.
class EBB_API CpuFallback {
 public:
  CpuFallback(const char* op, DType dtype, Device device);

  /// An undefined tensor stays one.
  Tensor to_cpu(const Tensor& tensor) const {
    return tensor.defined() ? host_copy(tensor) : Tensor();
  }
  std::vector<Tensor> to_cpu(std::span<const Tensor> tensors) const {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : tensors) copies.push_back(to_cpu(tensor));
    return copies;
  }
  Tensor to_device(const Tensor& tensor) const {
    return tensor.defined() ? copied_to(tensor, device_) : Tensor();
  }
  std::vector<Tensor> to_device(const std::vector<Tensor>& tensors) const {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : tensors) copies.push_back(to_device(tensor));
    return copies;
  }
  template <typename... Tensors>
  std::tuple<Tensors...> to_device(const std::tuple<Tensors...>& results) const {
    return std::apply([&](const auto&... one) { return std::tuple(to_device(one)...); }, results);
  }
  /// Brings what the op wrote to `host`, a copy of `target`, and logs the write.
  void write_back(const Tensor& host, const Tensor& target) const;

 private:
  const char* op_;
  Device device_;
};

/// `on_device()`, unless the device lacks a kernel for any part of it: then `on_cpu(fallback)`. An
/// op looks for all its kernels before it writes.
template <typename OnDevice, typename OnCpu>
auto run_elsewhere(const char* op, const Tensor& lead, bool has_own_kernel,
                   const OnDevice& on_device, const OnCpu& on_cpu) -> decltype(on_device()) {
  require_strided(op, "the first operand", lead);
  if (has_own_kernel) {
    try {
      return on_device();
    } catch (const MissingKernel&) {
    } catch (const NotOnHost&) {  // a part of the op that only the CPU has
    }
  }
  return on_cpu(CpuFallback(op, lead.dtype(), lead.device()));
}

/// `out`, fresh and contiguous, after `write(target, kernel)` filled it: or filled memory of the
/// CPU that then travels, where the device of `out` has no such kernel.
template <typename Function, typename Write>
Tensor written(const char* op, const Tensor& out, const kernels::KernelTable<Function>& table,
               const Write& write) {
  if (!is_elsewhere(out) || has_kernel(table, out)) {
    write(out, kernel_for(op, table, out));
    return out;
  }
  const CpuFallback fallback(op, out.dtype(), out.device());
  const Tensor host = empty(out.sizes(), out.dtype());
  write(host, kernel_for(op, table, host));
  write_back(host, out);
  return out;
}

}  // namespace ebb::ops
