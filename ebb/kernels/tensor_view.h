// ebb/kernels/tensor_view.h -- what a kernel sees of a tensor: TensorView, and of the run: Context.
//
// A view owns nothing and is cheap to make: it points at the sizes and strides of the tensor.
#pragma once

#include <cstdint>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/shape.h"
#include "ebb/core/device/device.h"

namespace ebb::kernels {

/// A tensor's memory and geometry; what it points at is good for the length of the call. `data` is
/// aligned to 64 bytes for fresh tensors, to the element for views. Strides count elements and may
/// be zero or, from foreign memory, odd.
struct TensorView {
  void* data = nullptr;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  int64_t numel = 0;
  uint8_t ndim = 0;
  DType dtype = DType::float32;
  bool contiguous = true;  // row-major without gaps
  // A number: one element in memory of the host, for the kernel of a device to read at the call. Of
  // float32 where the others are of a half type.
  bool on_host = false;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  IntSpan shape() const { return {sizes, ndim}; }
};

/// Where a kernel runs.
struct Context {
  Device device;
  Stream stream;
};

}  // namespace ebb::kernels
