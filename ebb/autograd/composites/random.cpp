// ebb/autograd/composites/random.cpp -- dropout, which is its input where nothing is dropped.
#include "ebb/autograd/rules/random.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/native_dropout.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/check.h"

namespace ebb {

Tensor dropout(const Tensor& input, double p, bool training) {
  const autograd::CompositeCall call("dropout", __builtin_return_address(0));
  ops::infer::check_defined("dropout", "input", input);
  if (!(p >= 0 && p <= 1)) throw ValueError(str("dropout: p must be from 0 to 1, got ", p));
  if (!is_floating(input.dtype())) {
    throw DTypeError(str("dropout: needs a floating dtype, got ", ops::infer::describe(input)));
  }
  if (!training || p == 0) return input;
  return std::get<0>(native_dropout(input, p));
}

double autograd::rules::dropout_scale(double p) {
  // Nothing is kept for p = 1; the gradients are 0 then, whatever the scale.
  return p < 1 ? 1 / (1 - p) : 0;
}

}  // namespace ebb
