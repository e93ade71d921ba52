// ebb/ops/impl/shape.cpp -- views: reshape, view, transpose, permute, expand, split, unbind.
#include "ebb/ops/impl/shape.h"

#include <algorithm>

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Strides that make `sizes` of the memory of `input`. Walks both shapes from the back: a run of
/// dims of `input` that lie in memory as one (a chunk) may be cut into any dims of the result.
bool strides_of_view(const TensorImpl& input, IntSpan sizes, int64_t* strides) {
  int target = static_cast<int>(sizes.size()) - 1;
  int64_t chunk_stride = input.ndim > 0 ? input.strides()[input.ndim - 1] : 1;
  int64_t chunk_numel = 1;
  for (int dim = input.ndim - 1; dim >= 0; --dim) {
    chunk_numel *= input.sizes()[dim];
    const bool ends_chunk = dim == 0 || (input.sizes()[dim - 1] != 1 &&
                                         input.strides()[dim - 1] != chunk_numel * chunk_stride);
    if (!ends_chunk) continue;
    int64_t filled = 1;
    while (target >= 0 && (filled < chunk_numel || sizes[static_cast<size_t>(target)] == 1)) {
      strides[target] = filled * chunk_stride;
      filled *= sizes[static_cast<size_t>(target--)];
    }
    if (filled != chunk_numel) return false;
    if (dim > 0) {
      chunk_stride = input.strides()[dim - 1];
      chunk_numel = 1;
    }
  }
  for (; target >= 0; --target) strides[target] = 1;  // a 0-d input: all sizes are 1
  return true;
}

Tensor view_or_undefined(const Tensor& input, IntSpan sizes) {
  int64_t strides[kMaxDims];
  const TensorImpl& impl = *input.impl();
  if (impl.is_contiguous() || impl.numel == 0) {
    contiguous_strides(sizes, strides);
  } else if (!strides_of_view(impl, sizes, strides)) {
    return {};
  }
  return make_view(input, sizes, {strides, sizes.size()}, input.storage_offset());
}

/// Whether `shape` has no -1 and fits; the common case, which needs no Shape of its own.
bool is_plain_shape(const Tensor& input, IntSpan shape) {
  if (shape.size() > kMaxDims || input.numel() == 0) return false;
  int64_t numel = 1;
  for (const int64_t size : shape) {
    if (size <= 0 || __builtin_mul_overflow(numel, size, &numel)) return false;
  }
  return numel == input.numel();
}

}  // namespace

Tensor reshape(const Tensor& input, IntSpan shape) {
  if (input.is_contiguous() && is_plain_shape(input, shape)) [[likely]] {
    return view_or_undefined(input, shape);
  }
  const Shape sizes = infer::reshaped("reshape", input, shape);
  Tensor out = view_or_undefined(input, sizes);
  if (out.defined()) return out;
  const Tensor copy = clone(input);
  int64_t strides[kMaxDims];
  contiguous_strides(sizes, strides);
  return make_alias(copy, sizes, {strides, sizes.size()}, 0);
}

Tensor view(const Tensor& input, IntSpan shape) {
  const Shape sizes = infer::reshaped("view", input, shape);
  Tensor out = view_or_undefined(input, sizes);
  if (out.defined()) return out;
  throw ShapeError(str("view: shape must be expressible by strides, got shape ", PrintShape{shape},
                       " for input ", infer::describe(input), " with strides ",
                       PrintShape{input.strides()}, "\nhint: use reshape, which copies if needed"));
}

Tensor view(const Tensor& input, DType dtype) {
  const auto refuse = [&](const char* needs) {
    throw ShapeError(str("view: ", dtype, " needs ", needs, ", got ", infer::describe(input),
                         " with strides ", PrintShape{input.strides()}, " and offset ",
                         input.storage_offset()));
  };
  const auto from = static_cast<int64_t>(item_size(input.dtype()));
  const auto to = static_cast<int64_t>(item_size(dtype));
  Geometry geometry(input);
  int64_t offset = input.storage_offset();
  if (from != to) {
    const int last = geometry.ndim - 1;
    if (last < 0) refuse("a last dim");
    if (geometry.strides[last] != 1) refuse("elements of the last dim side by side");
    const int64_t parts = std::max<int64_t>(from / to, 1), whole = std::max<int64_t>(to / from, 1);
    bool fits = geometry.sizes[last] % whole == 0 && offset % whole == 0;
    for (int dim = 0; dim < last; ++dim) {
      fits = fits && geometry.strides[dim] % whole == 0;
      geometry.strides[dim] = geometry.strides[dim] / whole * parts;
    }
    if (!fits) refuse("a last size that its bytes divide");
    geometry.sizes[last] = geometry.sizes[last] / whole * parts;
    offset = offset / whole * parts;
  }
  const Tensor out =
      make_view_as(input, dtype, geometry.size_span(), geometry.stride_span(), offset);
  out.impl()->cut_from_base();
  return out;
}

Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  const int first = normalize_dim("transpose", dim0, input);
  const int second = normalize_dim("transpose", dim1, input);
  Geometry geometry(input);
  if (geometry.ndim > 0) {
    std::swap(geometry.sizes[first], geometry.sizes[second]);
    std::swap(geometry.strides[first], geometry.strides[second]);
  }
  return make_view(input, geometry.size_span(), geometry.stride_span(), input.storage_offset());
}

Tensor permute(const Tensor& input, IntSpan dims) {
  if (dims.size() != static_cast<size_t>(input.ndim())) {
    throw ShapeError(str("permute: dims must name each dim once, got ", PrintShape{dims},
                         " for input ", infer::describe(input)));
  }
  if (!dims.empty()) infer::dim_mask("permute", dims, input);  // refuses duplicates
  Geometry geometry;
  for (const int64_t dim : dims) {
    const int from = normalize_dim("permute", dim, input);
    geometry.append(input.impl()->sizes()[from], input.impl()->strides()[from]);
  }
  return make_view(input, geometry.size_span(), geometry.stride_span(), input.storage_offset());
}

namespace {
[[noreturn]] void throw_cannot_expand(const Tensor& input, IntSpan size) {
  throw ShapeError(
      str("expand: size must keep each size of input that is not 1 (-1 keeps any), "
          "got size ",
          PrintShape{size}, " for input ", infer::describe(input)));
}
}  // namespace

Tensor expand(const Tensor& input, IntSpan size) {
  const TensorImpl& impl = *input.impl();
  const Shape checked(size);  // refuses too many dims
  const int lead = checked.ndim() - impl.ndim;
  if (lead < 0) throw_cannot_expand(input, size);
  Geometry geometry;
  for (int dim = 0; dim < checked.ndim(); ++dim) {
    const bool is_new = dim < lead;
    const int64_t old_size = is_new ? 1 : impl.sizes()[dim - lead];
    const int64_t wanted = checked[dim] == -1 && !is_new ? old_size : checked[dim];
    if (wanted < 0 || (wanted != old_size && old_size != 1)) throw_cannot_expand(input, size);
    const bool keeps_stride = !is_new && wanted == old_size;
    geometry.append(wanted, keeps_stride ? impl.strides()[dim - lead] : 0);
  }
  checked_numel("expand", geometry.size_span(), item_size(impl.dtype));
  return make_view(input, geometry.size_span(), geometry.stride_span(), input.storage_offset());
}

std::vector<Tensor> split(const Tensor& input, IntSpan sizes, int64_t dim) {
  if (input.ndim() == 0) infer::check_ndim("split", "input", input, 1, kMaxDims);
  const int axis = normalize_dim("split", dim, input);
  Geometry geometry(input);
  int64_t total = 0;
  bool fits = !sizes.empty();
  for (const int64_t size : sizes) {
    fits = fits && size >= 0 && !__builtin_add_overflow(total, size, &total);
  }
  if (!fits || total != geometry.sizes[axis]) {
    throw ShapeError(str("split: sizes must add up to the ", geometry.sizes[axis],
                         " elements of dim ", axis, ", got ", PrintShape{sizes}, " for input ",
                         infer::describe(input)));
  }
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  int64_t offset = input.storage_offset();
  for (const int64_t size : sizes) {
    geometry.sizes[axis] = size;
    parts.push_back(make_view(input, geometry.size_span(), geometry.stride_span(), offset));
    offset += size * geometry.strides[axis];
  }
  return parts;
}

std::vector<Tensor> unbind(const Tensor& input, int64_t dim) {
  infer::check_ndim("unbind", "input", input, 1, kMaxDims);
  const int axis = normalize_dim("unbind", dim, input);
  const TensorImpl& impl = *input.impl();
  Geometry rest;
  for (int each = 0; each < impl.ndim; ++each) {
    if (each != axis) rest.append(impl.sizes()[each], impl.strides()[each]);
  }
  std::vector<Tensor> slices;
  slices.reserve(static_cast<size_t>(impl.sizes()[axis]));
  for (int64_t i = 0; i < impl.sizes()[axis]; ++i) {
    const int64_t offset = input.storage_offset() + i * impl.strides()[axis];
    slices.push_back(make_view(input, rest.size_span(), rest.stride_span(), offset));
  }
  return slices;
}

}  // namespace ebb::ops::impl
