// tests/autograd/custom/doubling_in_place.h -- a custom function that writes to its input.
#pragma once

#include <vector>

#include "ebb/autograd/custom/function.h"
#include "ebb/autograd/ops/mul.h"

namespace ebb::testing {

template <typename Self>
struct DoublingInPlace : Function<Self> {
  static Tensor forward(FunctionContext& ctx, const Tensor& x) {
    mul_(x, 2);
    ctx.mark_dirty({x});
    return x;
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) {
    return {mul(grads[0], 2)};
  }
};

}  // namespace ebb::testing
