// ebb/ops/impl/arrange.cpp -- flip, roll, constant_pad_nd, diagonal, tril, triu.
//
// Most of it is geometry: a reversed dim is a negative stride, a shifted tensor is a few boxes, a
// padded one is a box in a filled tensor. The copy kernel takes any strides, so it does the rest.
#include "ebb/ops/impl/arrange.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/triangle.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

void copy_geometry(const char* op, const Tensor& from, const Geometry& source, int64_t from_offset,
                   const Tensor& to, const Geometry& target, int64_t to_offset) {
  const auto copy = kernel_for(op, kernels::cast_kernels, from);
  copy(context_of(from), source.over(data_at(from, from_offset), from.dtype()),
       target.over(data_at(to, to_offset), to.dtype()));
}

/// The diagonal of two dims as the last dim, and where it begins.
struct Diagonal {
  Geometry geometry;
  int64_t offset = 0;

  Diagonal(const char* op, const Tensor& input, int64_t shift, int64_t dim1, int64_t dim2) {
    infer::check_ndim(op, "input", input, 2, kMaxDims);
    const int rows = normalize_dim(op, dim1, input);
    const int columns = normalize_dim(op, dim2, input);
    if (rows == columns) {
      throw ValueError(str(op, ": dim1 and dim2 must differ, got ", dim1, " and ", dim2, " for ",
                           infer::describe(input)));
    }
    const int64_t* const sizes = input.impl()->sizes();
    const int64_t* const strides = input.impl()->strides();
    const int64_t height = sizes[rows];
    const int64_t width = sizes[columns];
    for (int dim = 0; dim < input.ndim(); ++dim) {
      if (dim != rows && dim != columns) geometry.append(sizes[dim], strides[dim]);
    }
    const bool is_outside = shift <= -height || shift >= width;
    const int64_t length = is_outside   ? 0
                           : shift >= 0 ? std::min(height, width - shift)
                                        : std::min(height + shift, width);
    geometry.append(length, strides[rows] + strides[columns]);
    if (length > 0) offset = shift >= 0 ? shift * strides[columns] : -shift * strides[rows];
  }
};

}  // namespace

Tensor diagonal(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  const Diagonal found("diagonal", input, offset, dim1, dim2);
  return make_view(input, found.geometry.size_span(), found.geometry.stride_span(),
                   input.storage_offset() + found.offset);
}

Tensor diagonal_backward(const Tensor& grad, IntSpan input_shape, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  constexpr const char* op = "diagonal_backward";
  const Tensor out = zeros(input_shape, grad.dtype(), grad.device());
  const Diagonal found(op, out, offset, dim1, dim2);
  if (!equal(found.geometry.size_span(), grad.sizes())) {
    throw ShapeError(str(op, ": grad must have the shape of the diagonal ",
                         PrintShape{found.geometry.size_span()}, ", got ", infer::describe(grad)));
  }
  copy_geometry(op, grad, Geometry(grad), 0, out, found.geometry, found.offset);
  return out;
}

Tensor flip(const Tensor& input, IntSpan dims) {
  const infer::DimMask mask = dims.empty() ? 0 : infer::dim_mask("flip", dims, input);
  Tensor out = empty_like(input, input.dtype());
  if (input.numel() == 0) return out;
  Geometry source(input);
  int64_t offset = 0;
  for (int dim = 0; dim < source.ndim; ++dim) {
    if ((mask >> dim & 1) == 0) continue;
    offset += (source.sizes[dim] - 1) * source.strides[dim];
    source.strides[dim] = -source.strides[dim];
  }
  copy_geometry("flip", input, source, offset, out, Geometry(out), 0);
  return out;
}

namespace {

/// `shift` of a dim with `size` elements as a number in [0, size).
int64_t wrapped(int64_t shift, int64_t size) {
  const int64_t rest = size == 0 ? 0 : shift % size;
  return rest < 0 ? rest + size : rest;
}

/// Copies both parts of each shifted dim, for every combination of parts.
void copy_rolled(const Tensor& input, const Geometry& given, const int64_t* shifts,
                 const Tensor& out) {
  Geometry dense = given;
  contiguous_strides(dense.size_span(), dense.strides);
  int moved[kMaxDims];
  int count = 0;
  for (int dim = 0; dim < given.ndim; ++dim) {
    if (shifts[dim] != 0) moved[count++] = dim;
  }
  // One bit per moved dim: 0 for what stays ahead of the end, 1 for what wraps around.
  for (uint64_t parts = 0; parts < uint64_t{1} << count; ++parts) {
    Geometry source = given;
    Geometry target = dense;
    int64_t from = 0;
    int64_t to = 0;
    for (int i = 0; i < count; ++i) {
      const int dim = moved[i];
      const bool wraps = (parts >> i & 1) != 0;
      const int64_t kept = given.sizes[dim] - shifts[dim];
      source.sizes[dim] = target.sizes[dim] = wraps ? shifts[dim] : kept;
      (wraps ? from : to) += wraps ? kept * given.strides[dim] : shifts[dim] * dense.strides[dim];
    }
    copy_geometry("roll", input, source, from, out, target, to);
  }
}

}  // namespace

Tensor roll(const Tensor& input, IntSpan shifts, IntSpan dims) {
  const bool is_flat = dims.empty();
  if (is_flat ? shifts.size() != 1 : shifts.size() != dims.size()) {
    throw ValueError(str("roll: shifts and dims need the same number of values, got ",
                         PrintShape{shifts}, " and ", PrintShape{dims}));
  }
  Tensor out = empty_like(input, input.dtype());
  int64_t by_dim[kMaxDims] = {};
  if (is_flat) {
    const Tensor source = contiguous(input);
    Geometry row;
    row.append(input.numel(), 1);
    by_dim[0] = wrapped(shifts[0], input.numel());
    if (input.numel() != 0) copy_rolled(source, row, by_dim, out);
    return out;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const int dim = normalize_dim("roll", dims[i], input);
    const int64_t size = input.ndim() == 0 ? 1 : input.impl()->sizes()[dim];
    by_dim[dim] = wrapped(by_dim[dim] + wrapped(shifts[i], size), size);
  }
  if (input.numel() != 0) copy_rolled(input, Geometry(input), by_dim, out);
  return out;
}

namespace {

/// A box in a padded tensor and the box of the input that it is copied from.
struct PaddedBox {
  Shape shape;  // of the padded tensor
  Geometry source;
  int64_t from = 0;
  int64_t start[kMaxDims];  // in the padded tensor

  PaddedBox(const Tensor& input, IntSpan pad) : shape(input.sizes()), source(input) {
    for (int dim = 0; dim < source.ndim; ++dim) {
      const size_t pair = 2 * static_cast<size_t>(source.ndim - 1 - dim);
      const int64_t before = pair < pad.size() ? pad[pair] : 0;
      const int64_t after = pair < pad.size() ? pad[pair + 1] : 0;
      const int64_t size = source.sizes[dim];
      int64_t padded = 0;
      const bool overflows = __builtin_add_overflow(size, before, &padded) ||
                             __builtin_add_overflow(padded, after, &padded);
      if (overflows || padded < 0) throw_bad_pad(input, pad);
      // Elements [first, last) of the input are kept.
      const int64_t first = before >= 0 ? 0 : before <= -size ? size : -before;
      const int64_t last = after >= 0       ? size
                           : after <= -size ? first
                                            : std::max(size + after, first);
      shape[dim] = padded;
      start[dim] = std::max<int64_t>(before, 0);
      from += first * source.strides[dim];
      source.sizes[dim] = std::min(last - first, padded);
    }
  }

  [[noreturn]] static void throw_bad_pad(const Tensor& input, IntSpan pad) {
    throw ShapeError(str("constant_pad_nd: pad must leave a size of at least 0, got ",
                         PrintShape{pad}, " for input ", infer::describe(input)));
  }
};

}  // namespace

Tensor constant_pad_nd(const Tensor& input, IntSpan pad, const Scalar& value) {
  if (pad.size() % 2 != 0 || pad.size() > 2 * static_cast<size_t>(input.ndim())) {
    throw ValueError(str("constant_pad_nd: pad needs two counts for each of the last dims, got ",
                         PrintShape{pad}, " for input ", infer::describe(input)));
  }
  const PaddedBox box(input, pad);
  const Tensor out = full(box.shape, value, input.dtype(), input.device());
  if (box.source.numel() == 0) return out;
  Geometry target = box.source;
  contiguous_strides(box.shape, target.strides);
  int64_t to = 0;
  for (int dim = 0; dim < target.ndim; ++dim) to += box.start[dim] * target.strides[dim];
  copy_geometry("constant_pad_nd", input, box.source, box.from, out, target, to);
  return out;
}

namespace {

Tensor triangle(const char* op, const Tensor& input, int64_t diagonal, bool is_upper) {
  infer::check_ndim(op, "input", input, 2, kMaxDims);
  const auto kernel = kernel_for(op, kernels::triangle_kernels, input);
  const Tensor source = contiguous(input);
  Tensor out = empty_like(input, input.dtype());
  kernel(context_of(input), view_of(source), diagonal, is_upper, view_of(out));
  return out;
}

const Tensor& write_triangle(const char* op, const Tensor& self, int64_t diagonal, bool is_upper) {
  check_writable(op, self);
  write_region(op, self, Geometry(self), self.impl()->data, triangle(op, self, diagonal, is_upper));
  return self;
}

}  // namespace

Tensor tril(const Tensor& input, int64_t diagonal) {
  return triangle("tril", input, diagonal, false);
}
Tensor triu(const Tensor& input, int64_t diagonal) {
  return triangle("triu", input, diagonal, true);
}
const Tensor& tril_(const Tensor& self, int64_t diagonal) {
  return write_triangle("tril_", self, diagonal, false);
}
const Tensor& triu_(const Tensor& self, int64_t diagonal) {
  return write_triangle("triu_", self, diagonal, true);
}

}  // namespace ebb::ops::impl
