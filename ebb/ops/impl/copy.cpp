// ebb/ops/impl/copy.cpp -- cast, clone, copy_, fill_ and what every in-place body needs.
#include "ebb/ops/impl/copy.h"

#include "ebb/core/base/number_range.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/prepare.h"

namespace ebb::ops::impl {

Tensor cast(const Tensor& input, DType dtype) {
  const bool is_plain_copy = input.dtype() == dtype && input.is_contiguous();
  if (is_plain_copy && is_elsewhere(input)) return copied_to(input, input.device());
  const auto convert = kernel_for("cast", kernels::cast_kernels, input);
  Tensor out = empty_like(input, dtype);
  convert(context_of(input), view_of(input), view_of(out));
  return out;
}

Tensor clone(const Tensor& input) { return cast(input, input.dtype()); }

Tensor to_device(const Tensor& input, Device device) {
  if (input.device() == device) return input;
  if (is_meta(device)) return ebb::empty(input.sizes(), input.dtype(), device);
  if (is_meta(input)) {
    throw_no_elements("to",
                      "Module.to_empty(device=...) and empty_like(tensor, device=...) make memory");
  }
  if (input.is_contiguous()) return copied_to(input, device);
  // The elements are put in order on the CPU, which can: on one side of the copy or the other.
  const Tensor ordered = contiguous(host_copy(input));
  return device == Device{} ? ordered : copied_to(ordered, device);
}

Tensor contiguous(const Tensor& input) { return input.is_contiguous() ? input : clone(input); }

Tensor detach(const Tensor& input) { return detached(input); }

Tensor as_dtype(const Tensor& input, DType dtype) {
  return input.dtype() == dtype ? input : cast(input, dtype);
}

bool may_overlap(const Tensor& lhs, const Tensor& rhs) {
  // Foreign memory may be adopted twice, so addresses decide, not storages.
  const ByteRange left = byte_range(lhs);
  const ByteRange right = byte_range(rhs);
  if (left.empty || right.empty) return false;
  const auto start_of = [](const Tensor& tensor) {
    return reinterpret_cast<uintptr_t>(tensor.impl()->storage->data());
  };
  return start_of(lhs) + left.first <= start_of(rhs) + right.last &&
         start_of(rhs) + right.first <= start_of(lhs) + left.last;
}

namespace {

/// Logs a write of the elements of `region`, which begin at `data`, for those who saved `self`.
void note_region(const char* op, const Tensor& self, const Geometry& region, const void* data) {
  const TensorImpl& impl = *self.impl();
  const int64_t start =
      static_cast<const char*>(data) - static_cast<const char*>(impl.storage->data());
  const ByteRegion bytes = ByteRegion::strided(start, static_cast<int64_t>(item_size(impl.dtype)),
                                               region.size_span(), region.stride_span());
  if (bytes.run == 0) return;
  const ByteRegion seen = impl.hides_writes() ? ByteRegion() : bytes;
  impl.storage->note_write(op, thread_state.location, seen);
}

/// Drops leading dims of size 1 so that `src` has at most `ndim` dims; throws unless it broadcasts
/// to `sizes`.
Geometry broadcast_source(const char* op, const Tensor& src, IntSpan sizes) {
  Geometry source(src);
  int dropped = 0;
  while (source.ndim - dropped > static_cast<int>(sizes.size()) && source.sizes[dropped] == 1) {
    ++dropped;
  }
  source.ndim -= dropped;
  std::copy_n(source.sizes + dropped, source.ndim, source.sizes);
  std::copy_n(source.strides + dropped, source.ndim, source.strides);
  bool fits = source.ndim <= static_cast<int>(sizes.size());
  const int lead = static_cast<int>(sizes.size()) - source.ndim;
  for (int dim = 0; fits && dim < source.ndim; ++dim) {
    fits = source.sizes[dim] == 1 || source.sizes[dim] == sizes[static_cast<size_t>(dim + lead)];
  }
  if (!fits) {
    throw ShapeError(str(op, ": the source must broadcast to shape ", PrintShape{sizes}, ", got ",
                         infer::describe(src)));
  }
  return source;
}

}  // namespace

namespace {

/// The region of `self` as a tensor, for copies that travel.
Tensor region_of(const Tensor& self, const Geometry& region, void* data) {
  const auto item = static_cast<int64_t>(item_size(self.dtype()));
  const int64_t offset =
      (static_cast<char*>(data) - static_cast<char*>(self.impl()->storage->data())) / item;
  return make_view(self, region.size_span(), region.stride_span(), offset);
}

/// write_region() where one of the two is not on the CPU, or both.
void write_region_elsewhere(const char* op, const Tensor& self, const Geometry& region, void* data,
                            const Tensor& src) {
  require_strided(op, "src", src);
  if (is_meta(self)) {
    broadcast_source(op, src, region.size_span());
    return note_region(op, self, region, data);
  }
  if (is_meta(src)) throw_no_elements(op);
  const Tensor target = region_of(self, region, data);
  const bool is_dense = target.is_contiguous() && src.is_contiguous() &&
                        target.dtype() == src.dtype() && equal(target.sizes(), src.sizes());
  if (is_dense && is_elsewhere(self)) {
    write_back(src, target);
  } else if (!is_elsewhere(self)) {
    return write_region(op, self, region, data, host_copy(src));
  } else {
    // What is written wholly need not be read first.
    const Tensor host =
        target.is_contiguous() ? ebb::empty(target.sizes(), target.dtype()) : host_copy(target);
    write_region(op, host, Geometry(host), host.impl()->data, host_copy(src));
    write_back(host, target);
  }
  note_region(op, self, region, data);
}

}  // namespace

void write_region(const char* op, const Tensor& self, const Geometry& region, void* data,
                  const Tensor& src) {
  const bool is_here = !is_elsewhere(self) && !is_elsewhere(src);
  const bool has_own =
      is_here || (self.device() == src.device() && has_kernel(kernels::cast_kernels, src));
  if (!has_own) [[unlikely]]
    return write_region_elsewhere(op, self, region, data, src);
  const bool needs_copy = may_overlap(self, src);
  const Tensor source = needs_copy ? clone(src) : src;
  const Geometry source_geometry = broadcast_source(op, source, region.size_span());
  const auto convert = kernel_for(op, kernels::cast_kernels, source);
  try {
    convert(context_of(self), source_geometry.over(source), region.over(data, self.dtype()));
  } catch (const MissingKernel&) {  // for the dtype of `self`, as complex numbers of real ones
    const CpuFallback fallback(op, self.dtype(), self.device());
    return write_region_elsewhere(op, self, region, data, source);
  }
  note_region(op, self, region, data);
}

const Tensor& copy_(const Tensor& self, const Tensor& src) {
  check_writable("copy_", self);
  write_region("copy_", self, Geometry(self), self.impl()->data, src);
  return self;
}

const Tensor& fill_(const Tensor& self, const Scalar& value) {
  check_writable("fill_", self);
  const auto fill = kernel_for("fill_", kernels::fill_kernels, self);
  alignas(16) char converted[16];
  value.store_as(self.dtype(), converted, "fill_");  // refuses what the dtype cannot hold
  warn_of_range("fill_", value, self.dtype());
  fill(context_of(self), value, view_of(self));
  note_write("fill_", self);
  return self;
}

const Tensor& zero_(const Tensor& self) { return fill_(self, 0); }

}  // namespace ebb::ops::impl
