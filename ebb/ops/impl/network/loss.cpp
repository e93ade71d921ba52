// ebb/ops/impl/network/loss.cpp -- softmax, log_softmax and nll_loss: inputs of any rank become
// rows of classes.
//
// Kernels see [rows, classes]. An input with further dims has its classes moved last and copied;
// its gradient goes the same way back.
#include "ebb/ops/impl/network/loss.h"

#include <algorithm>

#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/log_softmax.h"
#include "ebb/kernels/tables/log_softmax_backward.h"
#include "ebb/kernels/tables/nll_loss.h"
#include "ebb/kernels/tables/nll_loss_backward.h"
#include "ebb/kernels/tables/softmax.h"
#include "ebb/kernels/tables/softmax_backward.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

using kernels::Reduction;

namespace {

using SoftmaxTable = kernels::KernelTable<kernels::SoftmaxKernel>;
using BackwardTable = kernels::KernelTable<kernels::SoftmaxBackwardKernel>;

Tensor softmax_of(const char* op, const SoftmaxTable& table, const Tensor& input, int64_t dim,
                  std::optional<DType> dtype) {
  const int axis = normalize_dim(op, dim, input);
  const Tensor source = as_dtype(input, dtype.value_or(input.dtype()));
  if (!is_floating(source.dtype())) {
    throw DTypeError(str(op, ": needs a floating dtype, got ", infer::describe(source),
                         "\nhint: pass dtype=float32"));
  }
  const auto kernel = kernel_for(op, table, source);
  const Tensor out = empty_like(source, source.dtype());
  Geometry from(source);
  Geometry to(out);
  if (from.ndim == 0) from.append(1, 1);
  if (to.ndim == 0) to.append(1, 1);
  kernel(context_of(source), from.over(source), axis, to.over(out));
  return out;
}

Tensor softmax_gradient(const char* op, const BackwardTable& table, const Tensor& grad,
                        const Tensor& out, int64_t dim) {
  const int axis = normalize_dim(op, dim, out);
  infer::check_same_dtype(op, "grad", grad, "out", out);
  if (!equal(grad.sizes(), out.sizes())) {
    throw ShapeError(str(op, ": grad and out need one shape, got ", infer::describe(grad), " and ",
                         infer::describe(out)));
  }
  const auto kernel = kernel_for(op, table, out);
  const Tensor grad_input = empty_like(out, out.dtype());
  Geometry arrives(grad);
  Geometry result(out);
  Geometry leaves(grad_input);
  if (result.ndim == 0) {
    arrives.append(1, 1);
    result.append(1, 1);
    leaves.append(1, 1);
  }
  kernel(context_of(out), arrives.over(grad), result.over(out), axis, leaves.over(grad_input));
  return grad_input;
}

}  // namespace

Tensor softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return softmax_of("softmax", kernels::softmax_kernels, input, dim, dtype);
}
Tensor softmax_backward(const Tensor& grad, const Tensor& out, int64_t dim) {
  return softmax_gradient("softmax_backward", kernels::softmax_backward_kernels, grad, out, dim);
}

Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return softmax_of("log_softmax", kernels::log_softmax_kernels, input, dim, dtype);
}
Tensor log_softmax_backward(const Tensor& grad, const Tensor& out, int64_t dim) {
  return softmax_gradient("log_softmax_backward", kernels::log_softmax_backward_kernels, grad, out,
                          dim);
}

namespace {

/// How the sizes of an nll_loss input are read: classes are dim 0 of a vector, else dim 1.
struct ClassLayout {
  int class_dim = 0;
  int64_t classes = 0;
  int64_t rows = 1;
  Geometry target;  // the sizes that the target must have

  explicit ClassLayout(IntSpan input) {
    class_dim = input.size() == 1 ? 0 : 1;
    for (size_t dim = 0; dim < input.size(); ++dim) {
      if (static_cast<int>(dim) == class_dim) {
        classes = input[dim];
      } else {
        target.append(input[dim], 0);
        rows *= input[dim];
      }
    }
  }
  /// Whether rows of classes need another order than the input's.
  bool is_spread() const { return target.ndim > 1; }
};

/// What to do about a target that has a dim of size 1 where the classes are; else "".
std::string squeezing_hint(const Tensor& target, IntSpan input_shape, const ClassLayout& layout) {
  const bool has_classes_dim =
      target.ndim() == static_cast<int>(input_shape.size()) && target.size(layout.class_dim) == 1;
  return has_classes_dim ? str("\nhint: pass target.squeeze(", layout.class_dim, ")") : "";
}

void check_target(const char* op, const Tensor& target, IntSpan input_shape,
                  const ClassLayout& layout) {
  if (target.dtype() != DType::uint8) infer::check_index_dtype(op, "target", target);
  if (equal(target.sizes(), layout.target.size_span())) return;
  throw ShapeError(str(op, ": target must have the sizes of input without the classes (dim ",
                       layout.class_dim, "), got target ", infer::describe(target), " for input ",
                       PrintShape{input_shape}, squeezing_hint(target, input_shape, layout)));
}

/// Throws the IndexError of a target that is neither a class nor ignore_index.
[[noreturn]] void throw_no_class(const char* op, const kernels::WrongIndex& wrong,
                                 const Tensor& target, int64_t classes, int64_t ignore_index) {
  const StreamCheck check{op, "target", target.sizes(), classes, &ignore_index};
  throw IndexError(str(index_error_prefix(check), ", got ", describe_wrong(wrong, target)));
}

/// Runs a kernel that reads targets.
template <typename Run>
void with_classes(const char* op, const Tensor& target, int64_t classes, int64_t ignore_index,
                  Run run) {
  try {
    run();
  } catch (const kernels::WrongIndex& wrong) {
    throw_no_class(op, wrong, target, classes, ignore_index);
  }
}

/// Throws unless all are, now or when the host next waits. For devices, whose kernels need not: the
/// CPU's look at each they read.
void check_classes(const char* op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  if (is_on_host(target) || is_meta(target) || target.numel() == 0) return;
  if (is_watched(target, {op, "target", target.sizes(), classes, &ignore_index})) return;
  const Tensor here = host_copy(target);
  const auto* const values = here.data<int64_t>();
  for (int64_t i = 0; i < here.numel(); ++i) {
    if (values[i] == ignore_index || kernels::is_index(values[i], classes)) continue;
    throw_no_class(op, {values[i], i}, target, classes, ignore_index);
  }
}

void check_weight(const char* op, const Tensor& weight, DType dtype, int64_t classes) {
  if (!weight.defined()) return;
  if (weight.ndim() != 1 || weight.numel() != classes) {
    throw ShapeError(str(op, ": weight needs one element per class, got ", infer::describe(weight),
                         " for ", classes, " classes"));
  }
  if (weight.dtype() != dtype) {
    throw DTypeError(str(op, ": weight needs the dtype of input, got ", infer::describe(weight),
                         " and ", dtype));
  }
}

/// `count` elements that follow each other.
Geometry line_of(int64_t count) {
  Geometry geometry;
  geometry.append(count, 1);
  return geometry;
}

/// The target in int64, contiguous.
Tensor labels_of(const Tensor& target) { return contiguous(as_dtype(target, DType::int64)); }

/// The sizes and strides of an [N, C, d...] tensor in the order N, d..., C.
Geometry classes_last(const Geometry& input) {
  Geometry out = input;
  std::rotate(out.sizes + 1, out.sizes + 2, out.sizes + out.ndim);
  std::rotate(out.strides + 1, out.strides + 2, out.strides + out.ndim);
  return out;
}

/// An input as [rows, classes]: as it is, or a copy with the classes moved last.
struct ClassRows {
  Tensor values;
  Geometry geometry;

  ClassRows(const Tensor& input, const ClassLayout& layout) {
    if (!layout.is_spread()) {
      values = input;
      if (input.ndim() == 1) geometry.append(1, layout.classes);
      for (int dim = 0; dim < input.ndim(); ++dim) {
        geometry.append(input.impl()->sizes()[dim], input.impl()->strides()[dim]);
      }
      return;
    }
    const Geometry ordered = classes_last(Geometry(input));
    values = empty(ordered.size_span(), input.dtype(), input.device());
    const auto copy = kernel_for("nll_loss", kernels::cast_kernels, input);
    copy(context_of(input), ordered.over(input), view_of(values));
    geometry.append(layout.rows, layout.classes);
    geometry.append(layout.classes, 1);
  }
};

}  // namespace

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                int64_t ignore_index, Reduction reduction) {
  constexpr const char* op = "nll_loss";
  infer::check_ndim(op, "input", input, 1, kMaxDims);
  infer::check_same_device(op, input, target);
  const ClassLayout layout(input.sizes());
  check_target(op, target, input.sizes(), layout);
  check_weight(op, weight, input.dtype(), layout.classes);
  const auto kernel = kernel_for(op, kernels::nll_loss_kernels, input);
  const Tensor labels = labels_of(target);
  check_classes(op, labels, layout.classes, ignore_index);

  const ClassRows rows(input, layout);
  const bool is_none = reduction == Reduction::none;
  const Tensor out =
      empty(is_none ? layout.target.size_span() : IntSpan(), input.dtype(), input.device());
  // In float64 whatever the input: a half type cannot count beyond 2048.
  const Tensor total_weight = empty({}, DType::float64, input.device());
  const Geometry line = line_of(layout.rows);
  const Geometry losses = is_none ? line : Geometry();
  kernels::TensorView weight_view;
  if (weight.defined()) weight_view = view_of(weight);
  with_classes(op, labels, layout.classes, ignore_index, [&] {
    kernel(context_of(input), rows.geometry.over(rows.values), line.over(labels),
           weight.defined() ? &weight_view : nullptr, ignore_index, reduction, losses.over(out),
           view_of(total_weight));
  });
  return out;
}

namespace {

/// What the mean was divided by: the weights of all targets that count. A target that is no class
/// weighs nothing here: the kernel finds it.
double weight_of_targets(const Tensor& labels, const Tensor& weight, int64_t classes,
                         int64_t ignore_index) {
  if (is_meta(labels)) return 1.0;
  const auto* const label = labels.data<int64_t>();
  const Tensor weights = weight.defined() ? contiguous(as_dtype(weight, DType::float64)) : weight;
  const double* const weight_of = weights.defined() ? weights.data<double>() : nullptr;
  double total = 0.0;
  for (int64_t row = 0; row < labels.numel(); ++row) {
    const int64_t place = kernels::read_once(label + row);
    if (place == ignore_index || !kernels::is_index(place, classes)) continue;
    total += weight_of != nullptr ? weight_of[place] : 1.0;
  }
  return total;
}

/// The same as a 0-d tensor. On a device the kernel of the loss adds it up, of an input of zeros.
Tensor weight_for_mean(const char* op, const Tensor& grad, const Tensor& labels,
                       const Tensor& weight, const ClassLayout& layout, int64_t ignore_index) {
  if (is_on_host(labels) || is_meta(labels)) {
    const double total = weight_of_targets(labels, weight, layout.classes, ignore_index);
    return full({}, total, DType::float64, grad.device());
  }
  const auto kernel = kernel_for(op, kernels::nll_loss_kernels, grad);
  const Tensor nothing = full({}, 0.0, grad.dtype(), grad.device());
  const Tensor loss = empty({}, grad.dtype(), grad.device());
  Tensor total = empty({}, DType::float64, grad.device());
  Geometry rows;
  rows.append(layout.rows, 0);
  rows.append(layout.classes, 0);
  const Geometry line = line_of(layout.rows);
  kernels::TensorView weight_view;
  if (weight.defined()) weight_view = view_of(weight);
  kernel(context_of(grad), rows.over(nothing), line.over(labels),
         weight.defined() ? &weight_view : nullptr, ignore_index, Reduction::sum, view_of(loss),
         view_of(total));
  return total;
}

/// Rows of classes as a tensor of `input_shape`: [N, C, d...].
Tensor with_classes_second(const Tensor& rows, IntSpan input_shape) {
  Tensor out = empty(input_shape, rows.dtype(), rows.device());
  const Geometry target = classes_last(Geometry(out));
  Geometry source = target;
  contiguous_strides(source.size_span(), source.strides);
  const auto copy = kernel_for("nll_loss_backward", kernels::cast_kernels, rows);
  copy(context_of(rows), source.over(rows), target.over(out));
  return out;
}

}  // namespace

Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const Tensor& weight,
                         IntSpan input_shape, int64_t ignore_index, Reduction reduction) {
  constexpr const char* op = "nll_loss_backward";
  if (input_shape.empty()) throw ShapeError(str(op, ": input_shape needs at least 1 dim, got []"));
  checked_numel(op, input_shape, item_size(grad.dtype()));
  const ClassLayout layout(input_shape);
  check_target(op, target, input_shape, layout);
  check_weight(op, weight, grad.dtype(), layout.classes);
  const bool is_none = reduction == Reduction::none;
  if (!equal(grad.sizes(), is_none ? layout.target.size_span() : IntSpan())) {
    throw ShapeError(str(op, ": grad needs the shape of the loss, got ", infer::describe(grad),
                         " for target ", infer::describe(target)));
  }
  const auto kernel = kernel_for(op, kernels::nll_loss_backward_kernels, grad);
  const Tensor labels = labels_of(target);
  check_classes(op, labels, layout.classes, ignore_index);
  const Tensor total_weight = reduction == Reduction::mean
                                  ? weight_for_mean(op, grad, labels, weight, layout, ignore_index)
                                  : full({}, 1.0, DType::float64, grad.device());

  // Classes last, as kernels write them; moved to their place afterwards if they have another.
  const Geometry line = line_of(layout.rows);
  Geometry rows = line;
  rows.strides[0] = layout.classes;
  rows.append(layout.classes, 1);
  const Tensor losses = is_none ? contiguous(grad) : grad;
  Tensor grad_rows = layout.is_spread() ? empty(rows.size_span(), grad.dtype(), grad.device())
                                        : empty(input_shape, grad.dtype(), grad.device());
  kernels::TensorView weight_view;
  if (weight.defined()) weight_view = view_of(weight);
  const Geometry scalar = Geometry();
  with_classes(op, labels, layout.classes, ignore_index, [&] {
    kernel(context_of(grad), is_none ? line.over(losses) : scalar.over(losses), line.over(labels),
           weight.defined() ? &weight_view : nullptr, ignore_index, reduction,
           view_of(total_weight), rows.over(grad_rows));
  });
  return layout.is_spread() ? with_classes_second(grad_rows, input_shape) : grad_rows;
}

}  // namespace ebb::ops::impl
