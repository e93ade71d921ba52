// ebb/ops/impl/network/loss_pointwise.cpp -- losses of input - target.
//
// Kernels see two dense operands of one shape and dtype: others are copied first.
#include "ebb/ops/impl/network/loss_pointwise.h"

#include "ebb/core/base/log.h"
#include "ebb/kernels/tables/difference_loss.h"
#include "ebb/kernels/tables/difference_loss_backward.h"
#include "ebb/ops/broadcast.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/math.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

using kernels::DifferenceLoss;
using kernels::Reduction;

namespace {

/// input and target as kernels take them.
struct Pair {
  Shape shape;
  Tensor input, target;

  Pair(const char* op, const Tensor& lhs, const Tensor& rhs) {
    infer::check_same_device(op, lhs, rhs);
    const DType dtype = promote(lhs.dtype(), rhs.dtype());
    const bool is_same = equal(lhs.sizes(), rhs.sizes());
    shape = is_same ? Shape(lhs.sizes()) : broadcast_operands(op, {"input", lhs}, {"target", rhs});
    checked_numel(op, shape, item_size(dtype));
    input = dense(lhs, dtype);
    target = dense(rhs, dtype);
  }

 private:
  Tensor dense(const Tensor& tensor, DType dtype) const {
    if (equal(tensor.sizes(), shape)) return contiguous(as_dtype(tensor, dtype));
    const Tensor copy = empty(shape, dtype, tensor.device());
    copy_(copy, tensor);
    return copy;
  }
};

/// [N, 1] against [N] broadcasts to [N, N]: each target is compared with each input.
void warn_of_stretching(const char* op, const Tensor& input, const Tensor& target) {
  if (equal(input.sizes(), target.sizes())) return;
  warn(str(op, ": input and target should have one shape, got ", PrintShape{input.sizes()}, " and ",
           PrintShape{target.sizes()},
           ", which broadcast\nhint: squeeze(-1) or unsqueeze(-1) one of them, or expand() it"));
}

/// What the sum of the losses is divided by.
double divisor_of(Reduction reduction, int64_t count) {
  return reduction == Reduction::mean ? static_cast<double>(count) : 1.0;
}

Tensor difference_loss(const char* op, const Tensor& input, const Tensor& target,
                       DifferenceLoss kind, double beta, Reduction reduction) {
  const Pair pair(op, input, target);
  warn_of_stretching(op, input, target);
  const auto kernel = kernel_for(op, kernels::difference_loss_kernels, pair.input);
  const bool is_reduced = reduction != Reduction::none;
  const Tensor out =
      empty(is_reduced ? IntSpan() : IntSpan(pair.shape), pair.input.dtype(), pair.input.device());
  kernel(context_of(pair.input), kind, beta, view_of(pair.input), view_of(pair.target),
         divisor_of(reduction, pair.input.numel()), is_reduced, view_of(out));
  return out;
}

/// The lengths of differences of complex numbers, for which no kernel runs through both at once.
Tensor complex_distance(const char* op, const Tensor& input, const Tensor& target,
                        Reduction reduction) {
  const Pair pair(op, input, target);
  warn_of_stretching(op, input, target);
  const Tensor lengths = ops::abs(ops::sub(pair.input, pair.target));
  if (reduction == Reduction::none) return lengths;
  const Tensor nothing = zeros(lengths.sizes(), lengths.dtype(), lengths.device());
  return difference_loss(op, lengths, nothing, DifferenceLoss::absolute, 0, reduction);
}

DifferenceLoss kind_of(const char* op, std::string_view kind) {
  if (kind == "square") return DifferenceLoss::square;
  if (kind == "absolute") return DifferenceLoss::absolute;
  if (kind == "smooth") return DifferenceLoss::smooth;
  if (kind == "huber") return DifferenceLoss::huber;
  throw ValueError(str(op, ": kind needs square, absolute, smooth or huber, got ", kind));
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return difference_loss("mse_loss", input, target, DifferenceLoss::square, 0, reduction);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  if (is_complex(promote(input.dtype(), target.dtype()))) {
    return complex_distance("l1_loss", input, target, reduction);
  }
  return difference_loss("l1_loss", input, target, DifferenceLoss::absolute, 0, reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, Reduction reduction, double beta) {
  constexpr const char* op = "smooth_l1_loss";
  if (!(beta >= 0)) throw ValueError(str(op, ": beta must not be negative, got ", beta));
  return difference_loss(op, input, target, DifferenceLoss::smooth, beta, reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta) {
  constexpr const char* op = "huber_loss";
  if (!(delta > 0)) throw ValueError(str(op, ": delta must be positive, got ", delta));
  return difference_loss(op, input, target, DifferenceLoss::huber, delta, reduction);
}

Tensor difference_loss_backward(const Tensor& grad, const Tensor& input, const Tensor& target,
                                std::string_view kind, double beta, Reduction reduction) {
  constexpr const char* op = "difference_loss_backward";
  const DifferenceLoss loss = kind_of(op, kind);
  const Pair pair(op, input, target);
  const bool is_reduced = reduction != Reduction::none;
  if (!equal(grad.sizes(), is_reduced ? IntSpan() : IntSpan(pair.shape))) {
    throw ShapeError(str(op, ": grad needs the shape of the loss, got ", infer::describe(grad),
                         " for input ", infer::describe(input)));
  }
  const auto kernel = kernel_for(op, kernels::difference_loss_backward_kernels, pair.input);
  const Tensor arrives = contiguous(as_dtype(grad, pair.input.dtype()));
  const Tensor grad_input = empty(pair.shape, pair.input.dtype(), pair.input.device());
  kernel(context_of(pair.input), loss, beta, view_of(arrives), view_of(pair.input),
         view_of(pair.target), divisor_of(reduction, pair.input.numel()), view_of(grad_input));
  return grad_input;
}

}  // namespace ebb::ops::impl
