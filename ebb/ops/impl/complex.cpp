// ebb/ops/impl/complex.cpp -- views of complex numbers as real ones, and the other way round.
#include "ebb/ops/impl/complex.h"

#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Real numbers of a complex tensor; places count those.
Tensor view_of_parts(const Tensor& input, const Geometry& geometry, int64_t offset) {
  return make_view_as(input, real_type_of(input.dtype()), geometry.size_span(),
                      geometry.stride_span(), offset);
}

/// `input` with strides that count real numbers.
Geometry geometry_of_parts(const Tensor& input) {
  Geometry geometry(input);
  for (int dim = 0; dim < geometry.ndim; ++dim) geometry.strides[dim] *= 2;
  return geometry;
}

/// Whether complex numbers can be where `input` has its pairs.
bool holds_pairs(const Tensor& input) {
  if (input.numel() == 0) return true;
  if (input.strides().back() != 1 || input.storage_offset() % 2 != 0) return false;
  for (int dim = 0; dim + 1 < input.ndim(); ++dim) {
    const int64_t stride = input.strides()[static_cast<size_t>(dim)];
    if (input.size(dim) > 1 && stride % 2 != 0) return false;
  }
  return true;
}

}  // namespace

Tensor real(const Tensor& input) {
  return view_of_parts(input, geometry_of_parts(input), 2 * input.storage_offset());
}

Tensor imag(const Tensor& input) {
  return view_of_parts(input, geometry_of_parts(input), 2 * input.storage_offset() + 1);
}

Tensor view_as_real(const Tensor& input) {
  if (input.ndim() == kMaxDims) {
    throw ShapeError(
        str("view_as_real: needs at most ", kMaxDims - 1, " dims, got ", infer::describe(input)));
  }
  Geometry geometry = geometry_of_parts(input);
  geometry.append(2, 1);
  return view_of_parts(input, geometry, 2 * input.storage_offset());
}

Tensor view_as_complex(const Tensor& input) {
  constexpr const char* op = "view_as_complex";
  if (input.ndim() == 0 || input.size(-1) != 2) {
    throw ShapeError(str(op, ": the last dim must have size 2, got ", infer::describe(input)));
  }
  if (!holds_pairs(input)) {
    throw ValueError(str(op, ": each pair must lie together, at an even place in memory, got ",
                         "strides ", PrintShape{input.strides()}, " and offset ",
                         input.storage_offset(), " for ", infer::describe(input),
                         "\nhint: use contiguous() first"));
  }
  Geometry geometry;
  for (int dim = 0; dim + 1 < input.ndim(); ++dim) {
    geometry.append(input.size(dim), input.strides()[static_cast<size_t>(dim)] / 2);
  }
  return make_view_as(input, complex_type_of(input.dtype()), geometry.size_span(),
                      geometry.stride_span(), input.storage_offset() / 2);
}

}  // namespace ebb::ops::impl
