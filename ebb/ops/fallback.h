// ebb/ops/fallback.h -- what happens where a device has no kernel for an op.
//
// The operands are copied to the CPU, its kernel runs, and the result is copied back. That is
// logged as a warning once per op, and can be refused. A device tells how to copy with
// set_device_copies(); without that, or on the CPU itself, a missing kernel is an error.
#pragma once

#include <span>
#include <tuple>
#include <vector>

#include "ebb/core/tensor.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb::ops {

/// How tensors travel between a device and the CPU.
struct DeviceCopies {
  Tensor (*to_cpu)(const Tensor& tensor) = nullptr;
  Tensor (*to_device)(const Tensor& tensor, Device device) = nullptr;
};

/// Registers a device's copies. Call before tensors of the device are used.
EBB_API void set_device_copies(Backend backend, const DeviceCopies& copies);

/// Whether a missing kernel may be replaced by the CPU's; on by default. Per process.
EBB_API bool is_kernel_fallback_enabled();
EBB_API void set_kernel_fallback(bool enabled);

/// Whether `tensor` is on a device that has no kernel of its own in the table.
template <typename Function>
bool lacks_kernel(const kernels::KernelTable<Function>& table, const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return impl.device != Device{} &&
         table.find({backend_of(impl.device), impl.layout, impl.dtype}) == nullptr;
}

/// One use of the fallback. The constructor throws NotImplementedError where there is none.
class CpuFallback {
 public:
  CpuFallback(const char* op, DType dtype, Device device);

  /// An undefined tensor stays one.
  Tensor to_cpu(const Tensor& tensor) const {
    return tensor.defined() ? copies_.to_cpu(tensor) : Tensor();
  }
  std::vector<Tensor> to_cpu(std::span<const Tensor> tensors) const {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : tensors) copies.push_back(to_cpu(tensor));
    return copies;
  }
  Tensor to_device(const Tensor& tensor) const { return copies_.to_device(tensor, device_); }
  template <typename... Tensors>
  std::tuple<Tensors...> to_device(const std::tuple<Tensors...>& results) const {
    return std::apply([&](const auto&... one) { return std::tuple(to_device(one)...); }, results);
  }

 private:
  DeviceCopies copies_;
  Device device_;
};

}  // namespace ebb::ops
