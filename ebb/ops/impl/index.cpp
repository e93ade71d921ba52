// ebb/ops/impl/index.cpp -- gather, index_select and the writes of rows of kind index: checks, then
// the kernel.
//
// A 0-d tensor counts as one of shape [1] here, as in PyTorch.
#include "ebb/ops/impl/index.h"

#include "ebb/core/base/number_range.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/kernels/tables/gather.h"
#include "ebb/kernels/tables/index_select.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/index_write.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// The index as kernels need it: int64, on the same device. What a kernel of the CPU reads it
/// checks itself (with_index() then throws); before others run it is looked at here.
Tensor index_for(const char* op, const Tensor& input, const Tensor& index, int64_t size) {
  infer::check_index_dtype(op, "index", index);
  infer::check_same_device(op, input, index);
  Tensor converted = as_dtype(index, DType::int64);
  if (!is_on_host(index)) check_index_range(op, "index", converted, size);
  return converted;
}

/// Whether what is written is kept meanwhile, since it is far smaller than the index: cheaper than
/// to look at the index twice, where memory is what takes the time.
bool is_kept(const Tensor& out, Target target, const Tensor& index) {
  return target == Target::in_place && is_on_host(index) && out.nbytes() <= index.nbytes() / 4;
}

/// The same for what is written, of which a kernel looks at no index if `count` elements are none.
Tensor index_for(const char* op, const Tensor& input, const Tensor& index, int64_t size,
                 Target target, int64_t count) {
  Tensor converted = index_for(op, input, index, size);
  const bool is_first_look =
      count == 0 || (target == Target::in_place && !is_kept(input, target, converted));
  if (is_first_look && is_on_host(index)) check_index_range(op, "index", converted, size);
  return converted;
}

/// Runs a kernel that writes `out`, which after an index out of range is again what it was.
template <typename Run>
void write_by_index(const char* op, const Tensor& out, Target target, const Tensor& index,
                    int64_t size, Run run) {
  const Tensor kept = is_kept(out, target, index) ? clone(out) : Tensor();
  with_index(op, "index", index, size, [&] {
    try {
      run();
    } catch (const kernels::WrongIndex&) {
      if (kept.defined()) {
        kernel_for(op, kernels::cast_kernels, out)(context_of(out), view_of(kept), view_of(out));
      }
      throw;
    }
  });
}

/// Throws unless `inner` has the dims of `outer` and no size is larger, `axis` apart (if not -1).
void check_covers(const char* op, const char* outer_name, const Tensor& outer, const Tensor& index,
                  int axis) {
  const Geometry large = at_least_1d(outer);
  const Geometry small = at_least_1d(index);
  bool fits = large.ndim == small.ndim;
  for (int dim = 0; fits && dim < small.ndim; ++dim) {
    fits = dim == axis || small.sizes[dim] <= large.sizes[dim];
  }
  if (fits) return;
  throw ShapeError(str(op, ": index needs the dims of ", outer_name, " and no larger size",
                       axis >= 0 ? str(" but in dim ", axis) : std::string(), ", got index ",
                       infer::describe(index), " and ", outer_name, " ", infer::describe(outer)));
}

/// What a scatter writes: a tensor, or one number for all places.
struct Source {
  const Tensor& tensor;
  bool is_number = false;
};

void scatter_into(const char* op, const ScatterTable& table, const Tensor& out, Target kind,
                  int64_t dim, const Tensor& index, const Source& src) {
  const int axis = normalize_dim(op, dim, out);
  infer::check_same_dtype(op, "input", out, "src", src.tensor);
  infer::check_same_device(op, out, src.tensor);
  check_covers(op, "input", out, index, axis);
  if (!src.is_number) check_covers(op, "src", src.tensor, index, -1);
  const Geometry target = at_least_1d(out);
  const Tensor checked = index_for(op, out, index, target.sizes[axis], kind, index.numel());
  const Geometry where = at_least_1d(checked);
  Geometry part = src.is_number ? where : at_least_1d(src.tensor);  // what the index covers
  std::copy_n(where.sizes, where.ndim, part.sizes);
  if (src.is_number) std::fill_n(part.strides, part.ndim, 0);
  const auto kernel = kernel_for(op, table, out);
  write_by_index(op, out, kind, checked, target.sizes[axis], [&] {
    kernel(context_of(out), where.over(checked), part.over(src.tensor), axis, target.over(out));
  });
}

/// A number as a tensor of the dtype that it is written to.
Tensor number_like(const char* op, const Scalar& value, const Tensor& out) {
  Tensor number = empty(IntSpan(), out.dtype(), out.device());
  alignas(16) char converted[16];
  void* const place = is_on_host(out) ? number.host_data() : converted;
  value.store_as(out.dtype(), place, op);  // refuses what the dtype cannot hold
  warn_of_range(op, value, out.dtype());
  if (is_on_host(out)) return number;
  const auto fill = kernel_for(op, kernels::fill_kernels, number);
  fill(context_of(number), value, view_of(number));
  return number;
}

/// Throws unless source has one slice of `out` per index along `axis`.
void check_slices(const char* op, const Tensor& out, int axis, const Tensor& index,
                  const Tensor& source) {
  infer::check_same_dtype(op, "input", out, "source", source);
  infer::check_same_device(op, out, source);
  const Geometry target = at_least_1d(out);
  const Geometry slices = at_least_1d(source);
  bool fits = slices.ndim == target.ndim && slices.sizes[axis] == index.numel();
  for (int each = 0; fits && each < target.ndim; ++each) {
    fits = each == axis || slices.sizes[each] == target.sizes[each];
  }
  if (fits) return;
  throw ShapeError(str(op, ": source needs one slice of input per index in dim ", axis,
                       ", got source ", infer::describe(source), ", index ", infer::describe(index),
                       ", input ", infer::describe(out)));
}

}  // namespace

void ScatterWrite::into(const char* op, const ScatterTable& table, const Tensor& out, Target kind,
                        int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_into(op, table, out, kind, dim, index, {src});
}

void ScatterWrite::into(const char* op, const ScatterTable& table, const Tensor& out, Target kind,
                        int64_t dim, const Tensor& index, const Scalar& value) {
  scatter_into(op, table, out, kind, dim, index, {number_like(op, value, out), true});
}

void SliceAddition::into(const char* op, const IndexAddTable& table, const Tensor& out, Target kind,
                         int64_t dim, const Tensor& index, const Tensor& source,
                         const Scalar& alpha) {
  const int axis = normalize_dim(op, dim, out);
  infer::check_ndim(op, "index", index, 0, 1);
  if (alpha.kind() > std::max(kind_of(out.dtype()), Kind::integer)) {
    throw DTypeError(str(op, ": alpha must not be of a wider kind than input, got ", alpha, " for ",
                         infer::describe(out)));
  }
  check_slices(op, out, axis, index, source);
  const Geometry target = at_least_1d(out);
  const Tensor checked = index_for(op, out, index, target.sizes[axis], kind, source.numel());
  const auto kernel = kernel_for(op, table, out);
  write_by_index(op, out, kind, checked, target.sizes[axis], [&] {
    kernel(context_of(out), at_least_1d(checked).over(checked), at_least_1d(source).over(source),
           axis, alpha, target.over(out));
  });
}

namespace {

/// Writes slices of `source`, or (an undefined source) the same number everywhere.
void copy_slices(const char* op, const IndexCopyTable& table, const Tensor& out, Target kind,
                 int64_t dim, const Tensor& index, const Tensor& source, const Scalar& value) {
  const int axis = normalize_dim(op, dim, out);
  infer::check_ndim(op, "index", index, 0, 1);
  const bool is_number = !source.defined();
  if (!is_number) check_slices(op, out, axis, index, source);
  const Tensor from = is_number ? number_like(op, value, out) : source;
  const Geometry target = at_least_1d(out);
  Geometry slices = is_number ? target : at_least_1d(source);
  slices.sizes[axis] = index.numel();
  if (is_number) std::fill_n(slices.strides, slices.ndim, 0);
  const Tensor checked = index_for(op, out, index, target.sizes[axis], kind, slices.numel());
  const auto kernel = kernel_for(op, table, out);
  write_by_index(op, out, kind, checked, target.sizes[axis], [&] {
    kernel(context_of(out), at_least_1d(checked).over(checked), slices.over(from), axis,
           target.over(out));
  });
}

}  // namespace

void SliceCopy::into(const char* op, const IndexCopyTable& table, const Tensor& out, Target kind,
                     int64_t dim, const Tensor& index, const Tensor& source) {
  copy_slices(op, table, out, kind, dim, index, source, 0);
}

void SliceCopy::into(const char* op, const IndexCopyTable& table, const Tensor& out, Target kind,
                     int64_t dim, const Tensor& index, const Scalar& value) {
  copy_slices(op, table, out, kind, dim, index, {}, value);
}

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  const int axis = normalize_dim("gather", dim, input);
  check_covers("gather", "input", input, index, axis);
  const Geometry source = at_least_1d(input);
  const Tensor places = index_for("gather", input, index, source.sizes[axis]);
  const auto kernel = kernel_for("gather", kernels::gather_kernels, input);
  const Tensor out = empty(index.sizes(), input.dtype(), input.device());
  const Geometry where = at_least_1d(places);
  const Geometry target = at_least_1d(out);
  with_index("gather", "index", places, source.sizes[axis], [&] {
    kernel(context_of(input), source.over(input), axis, where.over(places), target.over(out));
  });
  return out;
}

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  const int axis = normalize_dim("index_select", dim, input);
  infer::check_ndim("index_select", "index", index, 0, 1);
  const Geometry source = at_least_1d(input);
  const Tensor places = index_for("index_select", input, index, source.sizes[axis]);
  const auto kernel = kernel_for("index_select", kernels::index_select_kernels, input);
  Geometry target = source;
  target.sizes[axis] = index.numel();
  contiguous_strides(target.size_span(), target.strides);
  if (input.ndim() == 0 && index.numel() != 1) {
    throw ShapeError(
        str("index_select: index needs one element for a 0-d input, got ", infer::describe(index)));
  }
  const IntSpan sizes = input.ndim() == 0 ? IntSpan() : target.size_span();
  const Tensor out = empty(sizes, input.dtype(), input.device());
  with_index("index_select", "index", places, source.sizes[axis], [&] {
    kernel(context_of(input), source.over(input), axis, at_least_1d(places).over(places),
           target.over(out));
  });
  // With no slices to read, nobody looked at the index.
  if (out.numel() == 0) {
    check_index_range("index_select", "index", places, source.sizes[axis]);
  }
  return out;
}

}  // namespace ebb::ops::impl
