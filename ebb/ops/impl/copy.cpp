// ebb/ops/impl/copy.cpp -- cast, clone, copy_, fill_ and what every in-place body needs.
#include "ebb/ops/impl/copy.h"

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/prepare.h"

namespace ebb::ops::impl {

Tensor cast(const Tensor& input, DType dtype) {
  const auto convert = kernel_for("cast", kernels::cast_kernels, input);
  Tensor out = empty_like(input, dtype);
  convert(context_of(input), view_of(input), view_of(out));
  return out;
}

Tensor clone(const Tensor& input) { return cast(input, input.dtype()); }

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
  int64_t lowest = 0;
  int64_t highest = 0;
  for (int dim = 0; dim < region.ndim; ++dim) {
    if (region.sizes[dim] == 0) return;
    const int64_t reach = (region.sizes[dim] - 1) * region.strides[dim];
    (reach < 0 ? lowest : highest) += reach;
  }
  const TensorImpl& impl = *self.impl();
  const auto item = static_cast<int64_t>(item_size(impl.dtype));
  const int64_t start =
      static_cast<const char*>(data) - static_cast<const char*>(impl.storage->data());
  impl.storage->note_write(op, thread_state.location, static_cast<size_t>(start + lowest * item),
                           static_cast<size_t>(start + highest * item + item - 1));
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

void write_region(const char* op, const Tensor& self, const Geometry& region, void* data,
                  const Tensor& src) {
  infer::check_same_device(op, self, src);
  const bool needs_copy = may_overlap(self, src);
  const Tensor source = needs_copy ? clone(src) : src;
  const Geometry source_geometry = broadcast_source(op, source, region.size_span());
  const auto convert = kernel_for(op, kernels::cast_kernels, source);
  convert(context_of(self), source_geometry.over(source), region.over(data, self.dtype()));
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
  fill(context_of(self), value, view_of(self));
  note_write("fill_", self);
  return self;
}

const Tensor& zero_(const Tensor& self) { return fill_(self, 0); }

}  // namespace ebb::ops::impl
