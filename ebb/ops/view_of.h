// ebb/ops/view_of.h -- what an op body hands to a kernel: views of tensors, and the kernel itself.
//
// view_of() shows a tensor as it is. Geometry builds other sizes and strides over the same memory
// on the stack, so that an op may look at a tensor differently without making a tensor.
#pragma once

#include <algorithm>

#include "ebb/core/device/stream.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/kernel_table.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::ops {

inline kernels::TensorView view_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return {impl.data, impl.sizes(), impl.strides(),      impl.numel,
          impl.ndim, impl.dtype,   impl.is_contiguous()};
}

/// Sizes and strides under construction, outermost first. Not initialised beyond `ndim`.
struct Geometry {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];

  Geometry() = default;
  Geometry(const Geometry& other) : ndim(other.ndim) { copy_values(other); }
  Geometry& operator=(const Geometry& other) {
    ndim = other.ndim;
    copy_values(other);
    return *this;
  }
  explicit Geometry(const Tensor& tensor) : ndim(tensor.ndim()) {
    std::copy_n(tensor.impl()->sizes(), ndim, sizes);
    std::copy_n(tensor.impl()->strides(), ndim, strides);
  }
  /// The caller makes sure that there is room.
  void append(int64_t size, int64_t stride) {
    sizes[ndim] = size;
    strides[ndim++] = stride;
  }
  IntSpan size_span() const { return {sizes, static_cast<size_t>(ndim)}; }
  IntSpan stride_span() const { return {strides, static_cast<size_t>(ndim)}; }
  int64_t numel() const {
    int64_t count = 1;
    for (int dim = 0; dim < ndim; ++dim) count *= sizes[dim];
    return count;
  }
  /// The memory at `data` with this geometry, which must outlive the view.
  kernels::TensorView over(void* data, DType dtype) const {
    return {data,
            sizes,
            strides,
            numel(),
            static_cast<uint8_t>(ndim),
            dtype,
            ebb::is_contiguous(size_span(), stride_span())};
  }
  kernels::TensorView over(const Tensor& tensor) const {
    return over(tensor.impl()->data, tensor.impl()->dtype);
  }

 private:
  void copy_values(const Geometry& other) {
    std::copy_n(other.sizes, ndim, sizes);
    std::copy_n(other.strides, ndim, strides);
  }
};

/// A tensor as it is; a 0-d one as one of shape [1].
inline Geometry at_least_1d(const Tensor& tensor) {
  Geometry geometry(tensor);
  if (geometry.ndim == 0) geometry.append(1, 1);
  return geometry;
}

/// Pointer to the element of `tensor` that lies `elements` (of its dtype) after the first.
inline void* data_at(const Tensor& tensor, int64_t elements) {
  const auto item = static_cast<int64_t>(item_size(tensor.impl()->dtype));
  return static_cast<char*>(tensor.impl()->data) + elements * item;
}

/// Where a kernel for `device` runs: on the thread's current stream.
inline kernels::Context context_on(Device device) {
  if (device == Device{}) [[likely]]
    return {};
  return {.device = device, .stream = current_stream(device)};
}
inline kernels::Context context_of(const Tensor& tensor) {
  return context_on(tensor.impl()->device);
}

/// A device has no kernel of its own for what was asked.
class EBB_API MissingKernel : public NotImplementedError {
 public:
  using NotImplementedError::NotImplementedError;
  ~MissingKernel() override;
};
[[noreturn]] EBB_API void throw_no_kernel(const char* op, DType dtype, Device device);

/// The kernel for `tensor`'s device and layout and the given dtype. Throws MissingKernel.
template <typename Function>
Function kernel_for(const char* op, const kernels::KernelTable<Function>& table,
                    const Tensor& tensor, DType dtype) {
  const TensorImpl& impl = *tensor.impl();
  const Function found = table.find({backend_of(impl.device), impl.layout, dtype});
  if (found == nullptr) [[unlikely]]
    throw_no_kernel(op, dtype, impl.device);
  return found;
}
template <typename Function>
Function kernel_for(const char* op, const kernels::KernelTable<Function>& table,
                    const Tensor& tensor) {
  return kernel_for(op, table, tensor, tensor.impl()->dtype);
}

}  // namespace ebb::ops
