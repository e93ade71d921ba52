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
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"

namespace ebb {

namespace {

void check_probability(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError(str(op, ": p must be from 0 to 1, got ", p));
}

/// dropout of whole channels, whose elements lie along the last `spatial` dims.
Tensor channel_dropout(const char* op, int spatial, const Tensor& input, double p, bool training) {
  ops::infer::check_ndim(op, "input", input, spatial + 1, spatial + 2);
  check_probability(op, p);
  if (!training || p == 0) return input;
  Shape channels = input.shape();
  for (int dim = input.ndim() - spatial; dim < input.ndim(); ++dim) channels[dim] = 1;
  return mul(input, dropout(ones(channels, input.dtype(), input.device()), p));
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool training) {
  const autograd::CompositeCall call("dropout", __builtin_return_address(0));
  autograd::operands::check_dropout(input);
  check_probability("dropout", p);
  if (!training || p == 0) return input;
  return std::get<0>(native_dropout(input, p));
}

Tensor dropout1d(const Tensor& input, double p, bool training) {
  const autograd::CompositeCall call("dropout1d", __builtin_return_address(0));
  autograd::operands::check_dropout1d(input);
  return channel_dropout("dropout1d", 1, input, p, training);
}

Tensor dropout2d(const Tensor& input, double p, bool training) {
  const autograd::CompositeCall call("dropout2d", __builtin_return_address(0));
  autograd::operands::check_dropout2d(input);
  return channel_dropout("dropout2d", 2, input, p, training);
}

Tensor dropout3d(const Tensor& input, double p, bool training) {
  const autograd::CompositeCall call("dropout3d", __builtin_return_address(0));
  autograd::operands::check_dropout3d(input);
  return channel_dropout("dropout3d", 3, input, p, training);
}

double autograd::rules::dropout_scale(double p) {
  // Nothing is kept for p = 1; the gradients are 0 then, whatever the scale.
  return p < 1 ? 1 / (1 - p) : 0;
}

}  // namespace ebb
