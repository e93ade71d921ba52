// ebb/ops/impl/index_dims.cpp -- indexing by tensors of any shape: several dims at once by one flat
// index, masks, embedding.
//
// Several dims that lie in memory as one are one dim to a kernel, and an index of any shape is a
// row of numbers to it. So everything here ends in index_select, index_add or index_copy.
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/combine_index.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/kernels/tables/find_true.h"
#include "ebb/kernels/tables/index_add.h"
#include "ebb/kernels/tables/index_copy.h"
#include "ebb/kernels/tables/index_select.h"
#include "ebb/kernels/tables/unravel.h"
#include "ebb/ops/arithmetic.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/index.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

namespace {

/// The places of what is not zero, counted from the first element: [n], or [n, 1] if `is_column`.
Tensor places_of_nonzero(const Tensor& input, bool is_column) {
  const Tensor mask = contiguous(as_dtype(input, DType::boolean));
  const auto find = kernel_for("nonzero", kernels::find_true_kernels, mask);
  const int64_t sizes[] = {find(context_of(mask), view_of(mask), nullptr), 1};
  Tensor out = empty(IntSpan(sizes, is_column ? 2 : 1), DType::int64, input.device());
  const kernels::TensorView places = view_of(out);
  if (out.numel() == 0) return out;
  const int64_t found = find(context_of(mask), view_of(mask), &places);
  if (found == out.numel()) [[likely]]
    return out;
  throw ValueError(str("nonzero: input must not be written meanwhile, got ", out.numel(),
                       " elements that are not zero at first and others later"));
}

}  // namespace

Tensor flatnonzero(const Tensor& input) { return places_of_nonzero(input, false); }

Tensor nonzero(const Tensor& input) {
  if (input.ndim() == 1) return places_of_nonzero(input, true);
  const Tensor flat = flatnonzero(input);
  const int64_t sizes[] = {flat.numel(), input.ndim()};
  Tensor out = empty(sizes, DType::int64, input.device());
  const auto unravel = kernel_for("nonzero", kernels::unravel_kernels, flat);
  if (out.numel() > 0) unravel(context_of(flat), view_of(flat), input.sizes(), view_of(out));
  return out;
}

Tensor flat_index(std::span<const Tensor> indices, IntSpan sizes, IntSpan shape) {
  constexpr const char* op = "index";
  if (indices.size() != sizes.size()) {
    throw ValueError(
        str(op, ": needs one size per index, got ", indices.size(), " and ", PrintShape{sizes}));
  }
  checked_numel(op, sizes, 1);  // the flat index must fit
  const Tensor out = empty(shape, DType::int64, indices[0].device());
  const auto combine = kernel_for(op, kernels::combine_index_kernels, out);
  for (size_t i = 0; i < indices.size(); ++i) {
    infer::check_index_dtype(op, "an index", indices[i]);
    const Tensor index = as_dtype(indices[i], DType::int64);
    if (!equal(broadcast_shapes(op, shape, index.sizes()), shape)) {
      throw ShapeError(str(op, ": indices must broadcast to ", PrintShape{shape}, ", got ",
                           infer::describe(index)));
    }
    const StreamCheck check{.op = op, .name = "an index", .size = sizes[i], .wraps = true};
    if (index.numel() > 0 && !is_meta(index)) is_watched(index, check);
    const int64_t wrong = combine(context_of(out), view_of(index), sizes[i], i == 0, view_of(out));
    if (wrong < 0) continue;
    // The position is one of the broadcast index; the element itself is all that is shown.
    int64_t offset = 0;
    int64_t rest = wrong;
    const int lead = out.ndim() - index.ndim();
    for (int dim = out.ndim() - 1; dim >= 0; --dim) {
      const int64_t at = rest % out.impl()->sizes()[dim];
      rest /= out.impl()->sizes()[dim];
      const int own = dim - lead;
      if (own >= 0 && index.impl()->sizes()[own] != 1) offset += at * index.impl()->strides()[own];
    }
    const int64_t value = index.data<int64_t>()[offset];
    const bool is_gone = value >= -sizes[i] && value < sizes[i];  // written since
    throw IndexError(str(index_error_prefix(check), ", got ",
                         is_gone ? describe_wrong({value, -1}, index) : str(value)));
  }
  return out;
}

namespace {

/// A tensor whose indexed dims are shown as one. If they do not lie in memory as one, that one dim
/// is memory itself, with a stride of 1, and a flat index becomes an offset: places().
struct IndexedDims {
  Geometry merged;  // the other dims, and the indexed ones as one at `axis`
  int axis = 0;
  bool is_mergeable = true;
  Geometry own;         // the indexed dims
  int64_t count = 1;    // of their elements
  Shape before, after;  // sizes of the other dims on either side of `axis`

  IndexedDims(const char* op, const Geometry& all, IntSpan dims) {
    int64_t previous = -1;
    bool is_ordered = !dims.empty();
    for (const int64_t dim : dims) {
      is_ordered = is_ordered && dim > previous && dim < all.ndim;
      previous = dim;
    }
    if (!is_ordered) {
      throw IndexError(str(op, ": dims must be in order and at most ", all.ndim - 1, ", got ",
                           PrintShape{dims}));
    }
    const bool is_together = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
    int64_t stride = 1;
    int64_t span = 1;  // memory from the first to the last element
    size_t next = 0;
    for (int dim = 0; dim < all.ndim; ++dim) {
      if (next >= dims.size() || dims[next] != dim) {
        const bool is_before = is_together && next == 0;
        (is_before ? before : after).push_back(all.sizes[dim]);
        continue;
      }
      const int64_t size = all.sizes[dim];
      const bool fits = count == 1 || size == 1 || stride == size * all.strides[dim];
      is_mergeable = is_mergeable && fits;
      if (size != 1 || next == 0) stride = all.strides[dim];
      count *= size;
      span += (size - 1) * all.strides[dim];
      own.append(size, all.strides[dim]);
      ++next;
    }
    axis = before.ndim();
    append_others(all, dims, true, is_together);
    if (is_mergeable) {
      merged.append(count, stride);
    } else {
      merged.append(std::max<int64_t>(span, 0), 1);
    }
    append_others(all, dims, false, is_together);
  }

  /// Whether offsets may be negative, which kernels do not take.
  bool needs_copy() const {
    return !is_mergeable &&
           std::any_of(own.strides, own.strides + own.ndim, [](int64_t s) { return s < 0; });
  }
  /// A flat index, dense, as numbers of the merged dim: checked if they are not those it holds.
  Tensor places(const char* op, const Tensor& flat) const {
    if (is_mergeable) return flat;
    if (!is_on_host(flat)) return places_elsewhere(flat);
    Tensor out = empty(flat.sizes(), DType::int64, flat.device());
    const auto* const from = flat.data<int64_t>();
    auto* const to = out.data<int64_t>();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      int64_t rest = kernels::read_once(from + i);
      if (!kernels::is_index(rest, count)) throw_wrong_index(op, "index", flat, count, {rest, i});
      to[i] = 0;
      for (int dim = own.ndim - 1; dim >= 0; --dim) {
        to[i] += rest % own.sizes[dim] * own.strides[dim];
        rest /= own.sizes[dim];
      }
    }
    return out;
  }
  /// The same by ops of the device, for an index that was checked before.
  Tensor places_elsewhere(const Tensor& flat) const {
    Tensor rest = flat, sum = ops::mul(flat, Scalar(0));
    for (int dim = own.ndim - 1; dim >= 0; --dim) {
      const Scalar size(own.sizes[dim]);
      sum = ops::add(sum, ops::mul(ops::remainder(rest, size), Scalar(own.strides[dim])));
      rest = ops::floor_divide(rest, size);
    }
    return sum;
  }
  /// The shape of what an index with these sizes selects.
  Shape result(IntSpan index) const {
    Shape shape = before;
    for (const int64_t size : index) shape.push_back(size);
    for (const int64_t size : after) shape.push_back(size);
    return shape;
  }
  /// The same with the index as one dim, dense.
  Geometry rows(int64_t number) const {
    Geometry rows = merged;
    rows.sizes[axis] = number;
    contiguous_strides(rows.size_span(), rows.strides);
    return rows;
  }

 private:
  void append_others(const Geometry& all, IntSpan dims, bool wants_before, bool is_together) {
    for (int dim = 0; dim < all.ndim; ++dim) {
      if (std::find(dims.begin(), dims.end(), dim) != dims.end()) continue;
      const bool is_before = is_together && dim < dims.front();
      if (is_before == wants_before) merged.append(all.sizes[dim], all.strides[dim]);
    }
  }
};

/// A flat index as kernels need it: in one row. What is in range they check as they read it, but
/// what is written in place takes checked_row(), so that an error comes before.
Tensor row_for(const char* op, const char* name, const Tensor& index, int64_t size) {
  infer::check_index_dtype(op, name, index);
  Tensor converted = contiguous(as_dtype(index, DType::int64));
  if (!is_on_host(index)) check_index_range(op, name, converted, size);
  return converted;
}
Tensor checked_row(const char* op, const char* name, const Tensor& index, int64_t size) {
  infer::check_index_dtype(op, name, index);
  const Tensor converted = contiguous(as_dtype(index, DType::int64));
  check_index_range(op, name, converted, size);
  return converted;
}

Geometry as_row(const Tensor& index) {
  Geometry row;
  row.append(index.numel(), 1);
  return row;
}

/// Adds `rows` to the slices of `out` that `index`, checked and dense, names.
void add_rows(const char* op, const Tensor& out, const IndexedDims& to, const Tensor& index,
              const Geometry& rows, const Tensor& source) {
  const auto add = kernel_for(op, kernels::index_add_kernels, out);
  with_index(op, "index", index, to.merged.sizes[to.axis], [&] {
    add(context_of(out), as_row(index).over(index), rows.over(source), to.axis, 1,
        to.merged.over(out));
  });
}

/// out = the slices of `input` along `axis` that `index`, a row, names; checked on the way.
void select_rows(const char* op, const char* name, const kernels::TensorView& input, int axis,
                 const Tensor& index, const Geometry& rows, const Tensor& out) {
  const auto select = kernel_for(op, kernels::index_select_kernels, out);
  const int64_t size = input.sizes[axis];
  with_index(op, name, index, size, [&] {
    select(context_of(out), input, axis, as_row(index).over(index), rows.over(out));
  });
  // Where no slice has an element, nobody looked at the index.
  if (out.numel() == 0) check_index_range(op, name, index, size);
}

/// `value` as the dense rows that kernels add or copy: converted and broadcast to `shape`.
Tensor dense_rows(const char* op, const Tensor& self, const Tensor& value, const Shape& shape) {
  const bool is_usable = value.dtype() == self.dtype() && value.is_contiguous() &&
                         equal(value.sizes(), shape) && !may_overlap(self, value);
  if (is_usable) return value;
  Tensor rows = empty(shape, self.dtype(), self.device());
  write_region(op, rows, Geometry(rows), rows.impl()->data, value);
  return rows;
}

}  // namespace

Tensor index_dims(const Tensor& input, IntSpan dims, const Tensor& index) {
  constexpr const char* op = "index_dims";
  infer::check_same_device(op, input, index);
  const IndexedDims given(op, Geometry(input), dims);
  if (given.needs_copy()) return index_dims(clone(input), dims, index);
  const Tensor row = given.places(op, row_for(op, "index", index, given.count));
  Tensor out = empty(given.result(index.sizes()), input.dtype(), input.device());
  select_rows(op, "index", given.merged.over(input), given.axis, row, given.rows(row.numel()), out);
  return out;
}

Tensor index_dims_backward(const Tensor& grad, IntSpan input_shape, IntSpan dims,
                           const Tensor& index) {
  constexpr const char* op = "index_dims_backward";
  infer::check_same_device(op, grad, index);
  Tensor out = zeros(input_shape, grad.dtype(), grad.device());
  const IndexedDims to(op, Geometry(out), dims);
  if (!equal(to.result(index.sizes()), grad.sizes())) {
    throw ShapeError(str(op, ": grad must have the shape that the index selects, ",
                         to.result(index.sizes()), ", got ", infer::describe(grad)));
  }
  const Tensor row = to.places(op, row_for(op, "index", index, to.count));
  const Tensor source = contiguous(grad);
  if (grad.numel() == 0) check_index_range(op, "index", row, to.merged.sizes[to.axis]);
  add_rows(op, out, to, row, to.rows(row.numel()), source);
  return out;
}

const Tensor& index_dims_put_(const Tensor& self, const Tensor& value, IntSpan dims,
                              const Tensor& index, bool accumulate) {
  constexpr const char* op = "index_put_";
  check_writable(op, self);
  infer::check_same_device(op, self, index);
  infer::check_same_device(op, self, value);
  const IndexedDims to(op, Geometry(self), dims);
  if (to.needs_copy()) {
    const Tensor dense = clone(self);
    index_dims_put_(dense, value, dims, index, accumulate);
    return copy_(self, dense);
  }
  const Tensor apart = may_overlap(self, index) ? clone(index) : index;
  const Tensor row = to.places(op, checked_row(op, "index", apart, to.count));
  const Tensor rows = dense_rows(op, self, value, to.result(index.sizes()));
  const Geometry shown = to.rows(row.numel());
  if (accumulate) {
    add_rows(op, self, to, row, shown, rows);
  } else {
    const auto copy = kernel_for(op, kernels::index_copy_kernels, self);
    with_index(op, "index", row, to.merged.sizes[to.axis], [&] {
      copy(context_of(self), as_row(row).over(row), shown.over(rows), to.axis,
           to.merged.over(self));
    });
  }
  note_write(op, self);
  return self;
}

namespace {

void check_padding(const char* op, int64_t padding_idx, int64_t count) {
  if (padding_idx < count) return;
  throw IndexError(str(op, ": padding_idx must be below ", count, ", got ", padding_idx));
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx) {
  infer::check_ndim("embedding", "weight", weight, 2, 2);
  infer::check_same_device("embedding", weight, indices);
  const int64_t rows = weight.impl()->sizes()[0];
  check_padding("embedding", padding_idx, rows);
  const Tensor row = row_for("embedding", "indices", indices, rows);
  Shape shape(indices.sizes());
  shape.push_back(weight.impl()->sizes()[1]);
  Tensor out = empty(shape, weight.dtype(), weight.device());
  Geometry target;
  target.append(row.numel(), weight.impl()->sizes()[1]);
  target.append(weight.impl()->sizes()[1], 1);
  select_rows("embedding", "indices", view_of(weight), 0, row, target, out);
  return out;
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t count,
                          int64_t padding_idx) {
  constexpr const char* op = "embedding_backward";
  infer::check_ndim(op, "grad", grad, 1, kMaxDims);
  infer::check_same_device(op, grad, indices);
  check_padding(op, padding_idx, count);
  const int64_t width = grad.impl()->sizes()[grad.ndim() - 1];
  if (!equal(grad.sizes().first(static_cast<size_t>(grad.ndim() - 1)), indices.sizes())) {
    throw ShapeError(str(op, ": grad needs the shape of indices and a last dim, got ",
                         infer::describe(grad), " and ", infer::describe(indices)));
  }
  const Tensor row = row_for(op, "indices", indices, count);
  if (grad.numel() == 0) check_index_range(op, "indices", row, count);
  const int64_t sizes[] = {count, width};
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  const Tensor source = contiguous(grad);
  Geometry rows;
  rows.append(row.numel(), width);
  rows.append(width, 1);
  const auto add = kernel_for(op, kernels::index_add_kernels, out);
  with_index(op, "indices", row, count, [&] {
    add(context_of(out), as_row(row).over(row), rows.over(source), 0, 1, view_of(out));
  });
  if (padding_idx >= 0) {
    Geometry padding;
    padding.append(width, 1);
    const auto fill = kernel_for(op, kernels::fill_kernels, out);
    fill(context_of(out), 0, padding.over(data_at(out, padding_idx * width), out.dtype()));
  }
  return out;
}

}  // namespace ebb::ops::impl
