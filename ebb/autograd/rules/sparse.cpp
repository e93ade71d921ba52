// ebb/autograd/rules/sparse.cpp -- gradients of sparse tensors, and conversions to sparse layouts.
#include "ebb/autograd/rules/sparse.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/coalesce.h"
#include "ebb/autograd/ops/coalesced_values.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/nonzero.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sparse_as.h"
#include "ebb/autograd/ops/sparse_coo.h"
#include "ebb/autograd/ops/sparse_csr.h"
#include "ebb/autograd/ops/sparse_mask.h"
#include "ebb/autograd/ops/sparse_rows.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/stored_values.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/to_dense.h"
#include "ebb/autograd/ops/to_sparse.h"
#include "ebb/autograd/ops/to_sparse_csr.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/values.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd::rules {
namespace {

bool is_same_memory(const Tensor& lhs, const Tensor& rhs) {
  return lhs.defined() && rhs.defined() && lhs.data_ptr() == rhs.data_ptr() &&
         equal(lhs.sizes(), rhs.sizes()) && lhs.dtype() == rhs.dtype();
}

/// Whether `grad` stores exactly the places of these indices, each once: its values are the answer.
bool has_places(const Tensor& grad, Layout layout, const Tensor& indices, const Tensor& columns) {
  if (!is_coalesced(grad) || grad.layout() != layout) return false;
  const SparseParts& parts = parts_of("backward", grad);
  return is_same_memory(parts.indices, indices) &&
         (!columns.defined() || is_same_memory(parts.columns, columns));
}

/// The row of each value of a sparse_csr matrix.
Tensor rows_of_csr(const Tensor& crow_indices, const Tensor& col_indices) {
  const Tensor numbers = arange(col_indices.numel(), DType::int64, col_indices.device());
  const Tensor begins = cast(crow_indices, DType::int64);
  return sub(searchsorted(begins, numbers, false, true), 1);
}

}  // namespace

Tensor flat_places(const Tensor& indices, IntSpan sizes) {
  if (indices.size(0) == 0) return zeros(Shape{indices.size(1)}, DType::int64, indices.device());
  Tensor places = select(indices, 0, 0);
  for (int64_t dim = 1; dim < indices.size(0); ++dim) {
    places = add(mul(places, sizes[static_cast<size_t>(dim)]), select(indices, 0, dim));
  }
  return places;
}

Tensor values_at_coo(const Tensor& grad, const Tensor& indices) {
  if (has_places(grad, Layout::sparse_coo, indices, {})) return values(grad);
  const Tensor dense = to_dense(grad);
  const int64_t dims = indices.size(0);
  Shape sizes{-1};
  int64_t places = 1;
  for (int64_t dim = 0; dim < grad.ndim(); ++dim) {
    const int64_t size = grad.size(dim);
    if (dim < dims) {
      places *= size;
    } else {
      sizes.push_back(size);
    }
  }
  sizes[0] = places;
  const Tensor wide = cast(indices, DType::int64);
  return index_select(reshape(dense, sizes), 0, flat_places(wide, grad.sizes()));
}

Tensor values_at_csr(const Tensor& grad, const Tensor& crow_indices, const Tensor& col_indices) {
  if (has_places(grad, Layout::sparse_csr, crow_indices, col_indices)) return values(grad);
  const Tensor both[] = {rows_of_csr(crow_indices, col_indices), cast(col_indices, DType::int64)};
  return values_at_coo(grad, stack(both, 0));
}

Tensor values_at_rows(const Tensor& grad, const Tensor& rows) {
  if (has_places(grad, Layout::selected_rows, rows, {})) return values(grad);
  return index_select(to_dense(grad), 0, rows);
}

Tensor values_like(const Tensor& grad, const Tensor& pattern) {
  const SparseParts& parts = parts_of("sparse_mask", pattern);
  switch (pattern.layout()) {
    case Layout::sparse_coo: return values_at_coo(grad, parts.indices);
    case Layout::sparse_csr: return values_at_csr(grad, parts.indices, parts.columns);
    default: return values_at_rows(grad, parts.indices);
  }
}

Tensor sparse_like(const Tensor& values, const Tensor& pattern) {
  const SparseParts& parts = parts_of("sparse_mask", pattern);
  switch (pattern.layout()) {
    case Layout::sparse_coo:
      return sparse_coo(parts.indices, values, pattern.sizes(), parts.is_coalesced);
    case Layout::sparse_csr:
      return sparse_csr(parts.indices, parts.columns, values, pattern.sizes());
    default: return sparse_rows(parts.indices, values, pattern.sizes(), parts.is_coalesced);
  }
}

Tensor masked_like(const Tensor& grad, const Tensor& pattern) {
  const Tensor places = coalesce(detach(pattern));
  return sparse_like(values_like(grad, places), places);
}

Tensor in_layout(const Tensor& grad, Layout layout) {
  if (!has_parts(grad) || grad.layout() == layout) return grad;
  if (layout == Layout::sparse_csr) return to_sparse_csr(grad);
  return layout == Layout::sparse_coo ? to_sparse(grad) : grad;
}

Tensor embedding_rows(const Tensor& grad, const Tensor& indices, IntSpan shape,
                      int64_t padding_idx) {
  Tensor rows = reshape(cast(indices, DType::int64), Shape{-1});
  Tensor found = reshape(to_dense(grad), Shape{rows.numel(), shape[1]});
  if (padding_idx >= 0) {
    const Tensor kept = flatnonzero(ne(rows, padding_idx));
    rows = index_select(rows, 0, kept);
    found = index_select(found, 0, kept);
  }
  return sparse_rows(rows, found, shape, false);
}

}  // namespace ebb::autograd::rules

namespace ebb {

Tensor values(const Tensor& input) {
  const autograd::CompositeCall call("values", __builtin_return_address(0));
  const bool has_meaning =
      is_coalesced(input) || input.layout() != Layout::selected_rows || input.requires_grad();
  return has_meaning ? coalesced_values(input) : stored_values(input);
}

Tensor to_sparse(const Tensor& input, std::optional<int64_t> sparse_dim) {
  const autograd::CompositeCall call("to_sparse", __builtin_return_address(0));
  const int64_t dims = sparse_dim.value_or(input.ndim());
  if (!is_strided(input)) {
    if (!has_parts(input)) throw_layout("to_sparse", "input", *input.impl());
    if (!sparse_dim) return sparse_as(input, "sparse_coo");
    throw NotImplementedError(str("to_sparse: sparse_dim is for strided tensors, got a ",
                                  name_of(input.layout()), " one"));
  }
  const int64_t least = std::min(1, input.ndim());
  if (dims < least || dims > input.ndim()) {
    throw ValueError(
        str("to_sparse: sparse_dim must be from ", least, " to ", input.ndim(), ", got ", dims));
  }
  // A slice is stored if any of its elements is not zero.
  Tensor marks = ne(detach(input), 0);
  Shape sizes;
  for (int64_t dim = 0; dim < dims; ++dim) sizes.push_back(input.size(dim));
  if (dims < input.ndim()) {
    sizes.push_back(-1);
    const int64_t last[] = {dims};
    marks = input.numel() == 0 ? zeros(IntSpan(sizes).first(static_cast<size_t>(dims)),
                                       DType::boolean, input.device())
                               : any(reshape(marks, sizes), IntSpan(last));
  }
  const Tensor places = contiguous(transpose(nonzero(marks), 0, 1));
  return sparse_coo(places, autograd::rules::values_at_coo(input, places), input.sizes(), true);
}

Tensor to_sparse_csr(const Tensor& input) {
  const autograd::CompositeCall call("to_sparse_csr", __builtin_return_address(0));
  if (input.defined() && input.ndim() != 2) {
    throw ShapeError(str("to_sparse_csr: needs a matrix, got shape ", PrintShape{input.sizes()}));
  }
  return sparse_as(is_strided(input) ? to_sparse(input) : input, "sparse_csr");
}

Tensor sparse_mask(const Tensor& input, const Tensor& mask) {
  const autograd::CompositeCall call("sparse_mask", __builtin_return_address(0));
  if (!equal(input.sizes(), mask.sizes())) {
    throw ShapeError(str("sparse_mask: needs a mask of the shape ", PrintShape{input.sizes()},
                         ", got ", PrintShape{mask.sizes()}));
  }
  return autograd::rules::masked_like(input, mask);
}

}  // namespace ebb
