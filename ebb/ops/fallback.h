// ebb/ops/fallback.h -- what happens where a device has no kernel for an op.
//
// The operands are copied to the CPU, its kernel runs, and the result is copied back. That is
// logged as a warning once per op, and can be refused. A device tells how to copy with
// set_device_copies(); without that, or on the CPU itself, a missing kernel is an error.
#pragma once

#include "ebb/core/tensor.h"

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

/// One use of the fallback. The constructor throws NotImplementedError where there is none.
class CpuFallback {
 public:
  CpuFallback(const char* op, DType dtype, Device device);

  Tensor to_cpu(const Tensor& tensor) const { return copies_.to_cpu(tensor); }
  Tensor to_device(const Tensor& tensor) const { return copies_.to_device(tensor, device_); }

 private:
  DeviceCopies copies_;
  Device device_;
};

}  // namespace ebb::ops
