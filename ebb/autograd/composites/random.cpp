// ebb/autograd/composites/random.cpp -- dropout of elements and of channels, which is its input
// where nothing is dropped.
#include "ebb/autograd/rules/random.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/random.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/dropout1d.h"
#include "ebb/autograd/ops/dropout2d.h"
#include "ebb/autograd/ops/dropout3d.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/native_dropout.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/ops/infer.h"

namespace ebb {

namespace {

using ops::infer::check_probability;

/// Throws DTypeError for numbers that cannot be scaled, unless all are dropped.
void check_scales(const char* op, const Tensor& input, double p) {
  if (is_differentiable(input.dtype()) || p == 1) return;
  throw DTypeError(str(op, ": input needs a floating or complex dtype in training, got ",
                       ops::infer::describe(input), "\nhint: cast it, or eval() the module"));
}

/// dropout of what the first `lead` dims count: all elements of the other dims go together, and
/// both parts of complex numbers.
Tensor dropout_of_parts(const char* op, const Tensor& input, int lead, double p) {
  check_scales(op, input, p);
  if (!is_differentiable(input.dtype())) return zeros_like(input);
  Shape parts = input.shape();
  for (int dim = lead; dim < input.ndim(); ++dim) parts[dim] = 1;
  const DType dtype = is_complex(input.dtype()) ? real_type_of(input.dtype()) : input.dtype();
  return mul(input, dropout(ones(parts, dtype, input.device()), p));
}

void check_at_least(const char* op, const Tensor& input, int fewest) {
  if (input.ndim() >= fewest) return;
  throw ShapeError(str(op, ": input needs at least ", fewest, fewest == 1 ? " dim" : " dims",
                       ", got ", ops::infer::describe(input)));
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool training) {
  const autograd::operands::dropout call(input);
  check_probability("dropout", p);
  if (!training || p == 0) return input;
  if (is_floating(input.dtype())) return std::get<0>(native_dropout(input, p));
  return dropout_of_parts("dropout", input, input.ndim(), p);
}

Tensor dropout1d(const Tensor& input, double p, bool training) {
  const autograd::operands::dropout1d call(input);
  ops::infer::check_ndim("dropout1d", "input", input, 2, 3);
  check_probability("dropout1d", p);
  if (!training || p == 0) return input;
  return dropout_of_parts("dropout1d", input, input.ndim() - 1, p);
}

Tensor dropout2d(const Tensor& input, double p, bool training) {
  const autograd::operands::dropout2d call(input);
  check_at_least("dropout2d", input, 2);
  check_probability("dropout2d", p);
  if (!training || p == 0) return input;
  return dropout_of_parts("dropout2d", input, 2, p);  // three dims are [N, C, L], as in PyTorch
}

Tensor dropout3d(const Tensor& input, double p, bool training) {
  const autograd::operands::dropout3d call(input);
  check_at_least("dropout3d", input, 1);
  check_probability("dropout3d", p);
  if (!training || p == 0) return input;
  // Without N, channels come first.
  return dropout_of_parts("dropout3d", input, input.ndim() == 5 ? 2 : 1, p);
}

double autograd::rules::dropout_scale(double p) {
  // Nothing is kept for p = 1; the gradients are 0 then, whatever the scale.
  return p < 1 ? 1 / (1 - p) : 0;
}

}  // namespace ebb
