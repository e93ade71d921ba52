// ebb/ops/impl/shape_box.cpp -- basic indexing as one op: a box of a tensor read, written or
// filled; cat and stack.
//
// Whoever indexes (x[1:5, 0]) turns slices into start, step and count per dim and says which sizes
// of 1 the result leaves out (an integer) or puts in (None).
#include <algorithm>

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/cat.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/prepare.h"

namespace ebb::ops::impl {
namespace {

/// A box within some sizes, as the user of the op gave it.
struct Box {
  IntSpan start;
  IntSpan step;
  IntSpan size;
};

[[noreturn]] void throw_bad_box(const char* op, const Tensor& input, const Box& box) {
  throw IndexError(str(op, ": start, step and size must select elements of input, got start ",
                       PrintShape{box.start}, ", step ", PrintShape{box.step}, ", size ",
                       PrintShape{box.size}, " for input ", infer::describe(input)));
}

/// Whether `count` elements from `start`, `step` apart, lie in [0, size). Nothing overflows.
bool selects(int64_t start, int64_t step, int64_t count, int64_t size) {
  if (count < 0 || step < 1 || start < 0 || start > size) return false;
  if (step == 1) return count <= size - start;  // spares the division below
  return count == 0 || (start < size && count - 1 <= (size - 1 - start) / step);
}

/// Sizes and strides of the box. Returns how many elements it begins after the first of `input`.
int64_t box_geometry(const char* op, const Tensor& input, const Box& box, Geometry* geometry) {
  const TensorImpl& impl = *input.impl();
  const size_t ndim = impl.ndim;
  const bool has_all =
      box.start.size() == ndim && box.step.size() == ndim && box.size.size() == ndim;
  if (!has_all) throw_bad_box(op, input, box);
  int64_t offset = 0;
  for (size_t dim = 0; dim < ndim; ++dim) {
    const int64_t stride = impl.strides()[dim];
    const int64_t step = box.step[dim];
    const int64_t count = box.size[dim];
    if (!selects(box.start[dim], step, count, impl.sizes()[dim])) throw_bad_box(op, input, box);
    if (count > 0) offset += box.start[dim] * stride;
    geometry->append(count, count > 1 ? step * stride : stride);
  }
  return offset;
}

/// `box` with the sizes of `shape`, which differs in sizes of 1 only.
Geometry reshaped_box(const char* op, const Geometry& box, IntSpan shape) {
  if (shape.size() > kMaxDims) Shape refused(shape);
  Geometry out;
  int from = 0;
  bool fits = true;
  for (const int64_t size : shape) {
    while (from < box.ndim && box.sizes[from] == 1 && size != 1) ++from;
    const bool is_kept = from < box.ndim && box.sizes[from] == size;
    fits = fits && (is_kept || size == 1);
    out.append(size, is_kept ? box.strides[from] : 1);
    if (is_kept) ++from;
  }
  while (from < box.ndim && box.sizes[from] == 1) ++from;
  if (!fits || from != box.ndim) {
    throw ShapeError(str(op, ": shape may differ from size in sizes of 1 only, got shape ",
                         PrintShape{shape}, " and size ", PrintShape{box.size_span()}));
  }
  return out;
}

}  // namespace

Tensor index_box(const Tensor& input, IntSpan start, IntSpan step, IntSpan size, IntSpan shape) {
  Geometry box;
  const int64_t offset = box_geometry("index_box", input, {start, step, size}, &box);
  const Geometry out = reshaped_box("index_box", box, shape);
  return make_view(input, out.size_span(), out.stride_span(), input.storage_offset() + offset);
}

const Tensor& index_box_put_(const Tensor& self, const Tensor& value, IntSpan start, IntSpan step,
                             IntSpan size, IntSpan shape) {
  constexpr const char* op = "index_box_put_";
  check_writable(op, self);
  Geometry box;
  const int64_t offset = box_geometry(op, self, {start, step, size}, &box);
  const Geometry out = reshaped_box(op, box, shape);
  write_region(op, self, out, data_at(self, offset), value);
  return self;
}

Tensor index_box_backward(const Tensor& grad, IntSpan input_shape, IntSpan start, IntSpan step,
                          IntSpan size) {
  constexpr const char* op = "index_box_backward";
  const Tensor out = zeros(input_shape, grad.dtype(), grad.device());
  Geometry box;
  const int64_t offset = box_geometry(op, out, {start, step, size}, &box);
  if (box.numel() != grad.numel()) {
    throw ShapeError(str(op, ": grad must hold the elements of the box, got ",
                         infer::describe(grad), " for size ", PrintShape{size}));
  }
  const Geometry region = reshaped_box(op, box, grad.sizes());
  const auto copy = kernel_for(op, kernels::cast_kernels, grad);
  copy(context_of(grad), view_of(grad), region.over(data_at(out, offset), out.dtype()));
  return out;
}

namespace {

/// Whether cat() leaves a tensor out: one of shape [0] goes with any, as a list that begins empty.
bool is_nothing(const Tensor& part, int ndim) {
  return part.ndim() == 1 && part.numel() == 0 && ndim != 1;
}

/// The first tensor that cat() joins.
size_t lead_of(std::span<const Tensor> tensors) {
  for (size_t position = 0; position < tensors.size(); ++position) {
    if (tensors[position].ndim() != 1 || tensors[position].numel() != 0) return position;
  }
  return 0;
}

/// The shape of the joined tensor; refuses what does not fit together.
Shape joined_shape(std::span<const Tensor> tensors, size_t lead, int axis) {
  Shape shape(tensors[lead].sizes());
  int64_t total = 0;
  for (size_t position = 0; position < tensors.size(); ++position) {
    const Tensor& part = tensors[position];
    infer::check_same_device("cat", tensors[lead], part);
    if (is_nothing(part, shape.ndim())) continue;
    bool fits = part.ndim() == shape.ndim();
    for (int dim = 0; fits && dim < shape.ndim(); ++dim) {
      fits = dim == axis || part.impl()->sizes()[dim] == shape[dim];
    }
    fits = fits && !__builtin_add_overflow(total, part.impl()->sizes()[axis], &total);
    if (!fits) {
      throw ShapeError(str("cat: shapes must agree but for dim ", axis, ", got ",
                           describe_shape(tensors[lead]), " at position ", lead, " and ",
                           describe_shape(part), " at position ", position));
    }
  }
  shape[axis] = total;
  return shape;
}

/// What cat or stack is asked for: known, and found to fit, before memory is touched.
struct Join {
  const char* op;
  std::span<const Tensor> tensors;
  int axis;
  bool puts_dim;  // stack: each tensor gets a size of 1 at `axis`
  Shape shape;
  DType dtype;
};

DType common_dtype(std::span<const Tensor> tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& part : tensors) dtype = promote(dtype, part.dtype());
  return dtype;
}

Join join_of_cat(std::span<const Tensor> tensors, int64_t dim) {
  if (tensors.empty()) throw ValueError("cat: needs at least one tensor, got an empty list");
  const size_t lead = lead_of(tensors);
  if (tensors[lead].ndim() == 0) {
    infer::check_ndim("cat", str("tensors[", lead, "]").c_str(), tensors[lead], 1, kMaxDims);
  }
  const int axis = normalize_dim("cat", dim, tensors[lead]);
  const Shape shape = joined_shape(tensors, lead, axis);
  return {"cat", tensors, axis, false, shape, common_dtype(tensors)};
}

Join join_of_stack(std::span<const Tensor> tensors, int64_t dim) {
  if (tensors.empty()) throw ValueError("stack: needs at least one tensor, got an empty list");
  const Tensor& first = tensors[0];
  infer::check_ndim("stack", "tensors[0]", first, 0, kMaxDims - 1);
  for (size_t position = 0; position < tensors.size(); ++position) {
    infer::check_same_device("stack", first, tensors[position]);
    if (equal(first.sizes(), tensors[position].sizes())) continue;
    throw ShapeError(str("stack: shapes must agree, got ", describe_shape(first),
                         " at position 0 and ", describe_shape(tensors[position]), " at position ",
                         position));
  }
  const int axis = normalize_dim("stack", dim, first, 1);
  Geometry geometry;
  for (int each = 0; each <= first.ndim(); ++each) {
    if (each == axis) geometry.append(static_cast<int64_t>(tensors.size()), 1);
    if (each < first.ndim()) geometry.append(first.impl()->sizes()[each], 1);
  }
  return {"stack", tensors, axis, true, Shape(geometry.size_span()), common_dtype(tensors)};
}

/// The tensors in one dtype, and what the kernel sees of them.
struct Parts {
  std::vector<Tensor> converted;  // keeps what the views show
  std::vector<Geometry> geometries;
  std::vector<kernels::TensorView> views;

  explicit Parts(const Join& join) : geometries(join.puts_dim ? join.tensors.size() : 0) {
    converted.reserve(join.tensors.size());
    views.reserve(join.tensors.size());
    for (const Tensor& part : join.tensors) {
      if (!join.puts_dim && is_nothing(part, join.shape.ndim())) continue;
      converted.push_back(as_dtype(part, join.dtype));
      views.push_back(join.puts_dim ? with_dim(join.axis) : view_of(converted.back()));
    }
  }

 private:
  /// The last tensor with a size of 1 at the new dim, and any stride there.
  kernels::TensorView with_dim(int axis) {
    const TensorImpl& part = *converted.back().impl();
    Geometry& geometry = geometries[converted.size() - 1];
    for (int each = 0; each <= part.ndim; ++each) {
      if (each == axis) geometry.append(1, 1);
      if (each < part.ndim) geometry.append(part.sizes()[each], part.strides()[each]);
    }
    return geometry.over(converted.back());
  }
};

Tensor joined(const Join& join) {
  const Parts parts(join);
  const auto kernel = kernel_for(join.op, kernels::cat_kernels, join.tensors[0], join.dtype);
  Tensor out = empty(join.shape, join.dtype, join.tensors[0].device());
  kernel(context_of(out), parts.views, join.axis, view_of(out));
  return out;
}

const Tensor& join_into(const Join& join, const Tensor& out) {
  infer::check_out(join.op, join.shape, join.dtype, out);
  infer::check_same_device(join.op, join.tensors[0], out);
  check_writable(join.op, out);
  const bool needs_copy = out.dtype() != join.dtype ||
                          std::any_of(join.tensors.begin(), join.tensors.end(),
                                      [&](const Tensor& part) { return may_overlap(part, out); });
  if (needs_copy) return copy_(out, joined(join));
  const Parts parts(join);
  const auto kernel = kernel_for(join.op, kernels::cat_kernels, join.tensors[0], join.dtype);
  kernel(context_of(out), parts.views, join.axis, view_of(out));
  note_write(join.op, out);
  return out;
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int64_t dim) {
  return joined(join_of_cat(tensors, dim));
}
const Tensor& cat_out(std::span<const Tensor> tensors, int64_t dim, const Tensor& out) {
  return join_into(join_of_cat(tensors, dim), out);
}
Tensor stack(std::span<const Tensor> tensors, int64_t dim) {
  return joined(join_of_stack(tensors, dim));
}
const Tensor& stack_out(std::span<const Tensor> tensors, int64_t dim, const Tensor& out) {
  return join_into(join_of_stack(tensors, dim), out);
}

}  // namespace ebb::ops::impl
