// ebb/ops/impl/strided.cpp -- as_strided, its functional write, and the sum that is its gradient.
//
// Where no two elements of a region can meet, everything is a copy between two geometries. Where
// they can, strided_sum() first sums the dims of stride 0 and then adds element by element.
#include "ebb/ops/impl/strided.h"

#include <algorithm>

#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/index.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/reduce.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

// A region without elements may lie behind the memory, as x[1:, 0] of an empty x does: nothing is
// read there. Its address must be one.
constexpr int64_t kFarthestOfNothing = int64_t{1} << 40;

/// Sizes, strides and first element of a region, checked but for its place in memory.
struct Region {
  Geometry geometry;
  int64_t offset = 0;

  Region(const char* op, IntSpan size, IntSpan stride, int64_t first) : offset(first) {
    if (size.size() != stride.size() || size.size() > kMaxDims) {
      throw ShapeError(str(op, ": needs one stride per size and at most ", kMaxDims,
                           " dims, got size ", PrintShape{size}, " and stride ",
                           PrintShape{stride}));
    }
    for (const int64_t one : stride) {
      if (one >= 0) continue;
      throw ValueError(str(op, ": strides must not be negative, got ", PrintShape{stride}));
    }
    checked_numel(op, size, 1);
    for (size_t dim = 0; dim < size.size(); ++dim) geometry.append(size[dim], stride[dim]);
  }

  /// Whether all of it lies in [0, elements).
  bool lies_within(int64_t elements) const {
    if (offset < 0) return false;
    if (geometry.numel() == 0) return offset <= std::max(elements, kFarthestOfNothing);
    if (offset > elements) return false;
    int64_t lowest = offset;
    int64_t highest = offset;
    for (int dim = 0; dim < geometry.ndim; ++dim) {
      int64_t reach = 0;
      const int64_t steps = geometry.sizes[dim] - 1;
      if (__builtin_mul_overflow(steps, geometry.strides[dim], &reach)) return false;
      int64_t& end = reach < 0 ? lowest : highest;
      if (__builtin_add_overflow(end, reach, &end)) return false;
    }
    return lowest >= 0 && highest < elements;
  }

  void check_within(const char* op, int64_t elements) const {
    if (lies_within(elements)) return;
    throw ValueError(str(op, ": the region must lie within ", elements,
                         " elements of memory, got size ", PrintShape{geometry.size_span()},
                         ", stride ", PrintShape{geometry.stride_span()}, " and offset ", offset));
  }
};

int64_t elements_of_storage(const Tensor& input) {
  return static_cast<int64_t>(input.impl()->storage->bytes() / item_size(input.dtype()));
}

Region checked_region(const char* op, const Tensor& input, IntSpan size, IntSpan stride,
                      std::optional<int64_t> storage_offset) {
  const Region region(op, size, stride, storage_offset.value_or(input.storage_offset()));
  region.check_within(op, elements_of_storage(input));
  return region;
}

void copy_elements(const char* op, const Tensor& from, const Tensor& to, const Geometry& target,
                   int64_t offset) {
  if (from.numel() == 0) return;
  const auto copy = kernel_for(op, kernels::cast_kernels, from);
  copy(context_of(from), view_of(from), target.over(data_at(to, offset), to.dtype()));
}

/// `grad` summed over the dims along which all elements fall on one place.
Tensor summed_over_repeats(const Tensor& grad, Geometry* region) {
  Shape repeated;
  for (int dim = 0; dim < region->ndim; ++dim) {
    if (region->strides[dim] != 0 || region->sizes[dim] <= 1) continue;
    repeated.push_back(dim);
    region->sizes[dim] = 1;
  }
  return repeated.empty() ? grad : ops::sum(grad, IntSpan(repeated), true, grad.dtype());
}

/// The place of each element of a region in row-major order.
Tensor places_of(const Geometry& region, int64_t offset) {
  Tensor places = ebb::empty(Shape{region.numel()}, DType::int64);
  auto* const values = places.data<int64_t>();
  int64_t at[kMaxDims] = {};
  int64_t place = offset;
  for (int64_t i = 0, count = region.numel(); i < count; ++i) {
    values[i] = place;
    for (int dim = region.ndim - 1; dim >= 0; --dim) {
      place += region.strides[dim];
      if (++at[dim] < region.sizes[dim]) break;
      place -= at[dim] * region.strides[dim];
      at[dim] = 0;
    }
  }
  return places;
}

}  // namespace

Tensor as_strided(const Tensor& input, IntSpan size, IntSpan stride,
                  std::optional<int64_t> storage_offset) {
  const Region region = checked_region("as_strided", input, size, stride, storage_offset);
  return make_view(input, size, stride, region.offset);
}

Tensor as_strided_scatter(const Tensor& input, const Tensor& src, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset) {
  constexpr const char* op = "as_strided_scatter";
  const Region region = checked_region(op, input, size, stride, storage_offset);
  if (!equal(src.sizes(), size)) {
    throw ShapeError(str(op, ": src must have the region's size ", PrintShape{size}, ", got ",
                         infer::describe(src)));
  }
  if (may_overlap_itself(size, stride)) {
    throw ValueError(str(op, ": no two elements of the region may share memory, got size ",
                         PrintShape{size}, " and stride ", PrintShape{stride}));
  }
  const Region within(op, size, stride, region.offset - input.storage_offset());
  if (input.is_contiguous() && within.lies_within(input.numel())) {
    const Tensor out = clone(input);
    copy_elements(op, src, out, within.geometry, within.offset);
    return out;
  }
  const Shape elements{elements_of_storage(input)};
  const Tensor memory = ebb::empty(elements, input.dtype(), input.device());
  const Tensor out = make_alias(memory, input.sizes(), input.strides(), input.storage_offset());
  copy_elements(op, input, memory, Geometry(input), input.storage_offset());
  copy_elements(op, src, memory, region.geometry, region.offset);
  return out;
}

Tensor strided_sum(const Tensor& grad, int64_t length, IntSpan stride, int64_t offset) {
  constexpr const char* op = "strided_sum";
  const Region given(op, grad.sizes(), stride, offset);
  const Tensor out = zeros(Shape{length}, grad.dtype(), grad.device());
  given.check_within(op, length);
  if (grad.numel() == 0) return out;
  Geometry region = given.geometry;
  const Tensor values = summed_over_repeats(grad, &region);
  if (!may_overlap_itself(region.size_span(), region.stride_span())) {
    copy_elements(op, values, out, region, offset);
    return out;
  }
  if (is_meta(out)) return out;
  const Tensor row = contiguous(values);
  const Tensor flat = make_alias(row, Shape{row.numel()}, Shape{1}, row.storage_offset());
  return ops::index_add_(out, 0, to_device(places_of(region, offset), out.device()), flat, 1);
}

namespace {

/// `whole` with windows along a dim, and a last dim of their elements.
Geometry windows_of(const Geometry& whole, int64_t dimension, int64_t size, int64_t step) {
  constexpr const char* op = "unfold_dim";
  Geometry windows = whole;
  if (windows.ndim == 0) windows.append(1, 1);  // a number counts as a vector of one
  const int axis = normalize_dim(op, dimension, windows.ndim);
  const int64_t extent = windows.sizes[axis];
  if (size < 0 || size > extent) {
    throw ShapeError(
        str(op, ": size must be from 0 to ", extent, ", the size of dim ", axis, ", got ", size));
  }
  if (step < 1) throw ValueError(str(op, ": step must be at least 1, got ", step));
  if (windows.ndim == kMaxDims) {
    throw ShapeError(str(op, ": input needs at most ", kMaxDims - 1, " dims, got ", kMaxDims));
  }
  windows.append(size, windows.strides[axis]);
  windows.sizes[axis] = (extent - size) / step + 1;
  // One window may be further than memory reaches.
  if (windows.sizes[axis] > 1) windows.strides[axis] *= step;
  if (whole.ndim > 0) return windows;
  Geometry row;
  row.append(size, 1);
  return row;
}

}  // namespace

Tensor unfold_dim(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
  const Geometry windows = windows_of(Geometry(input), dimension, size, step);
  return make_view(input, windows.size_span(), windows.stride_span(), input.storage_offset());
}

Tensor unfold_dim_backward(const Tensor& grad, IntSpan input_shape, int64_t dimension, int64_t size,
                           int64_t step) {
  constexpr const char* op = "unfold_dim_backward";
  if (input_shape.size() >= kMaxDims) {
    throw ShapeError(
        str(op, ": input_shape needs at most ", kMaxDims - 1, " dims, got ", input_shape.size()));
  }
  const int64_t count = checked_numel(op, input_shape, item_size(grad.dtype()));
  int64_t strides[kMaxDims];
  contiguous_strides(input_shape, strides);
  Geometry whole;
  for (size_t dim = 0; dim < input_shape.size(); ++dim) {
    whole.append(input_shape[dim], strides[dim]);
  }
  const Geometry windows = windows_of(whole, dimension, size, step);
  if (!equal(grad.sizes(), windows.size_span())) {
    throw ShapeError(str(op, ": grad must have shape ", PrintShape{windows.size_span()}, ", got ",
                         infer::describe(grad)));
  }
  const Tensor row = strided_sum(grad, count, windows.stride_span(), 0);
  return make_alias(row, input_shape, {strides, input_shape.size()}, 0);
}

}  // namespace ebb::ops::impl
