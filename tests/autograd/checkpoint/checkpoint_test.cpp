// tests/autograd/checkpoint/checkpoint_test.cpp -- checkpointed functions, called from C++.
//
// What they keep, draw and refuse is tested in tests/python/saved/test_checkpoint.py.
#include "ebb/autograd/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(Checkpoint, GivesTheGradientsOfThePlainCall) {
  const Tensor x = leaf({1, 2}), again = leaf({1, 2});
  int calls = 0;
  const auto function = [&calls](const Tensor& input) {
    ++calls;
    return exp(sin(input));
  };
  backward(sum(checkpoint(function, x)));
  EXPECT_EQ(calls, 2);
  backward(sum(function(again)));
  EXPECT_EQ(floats(grad_of(x)), floats(grad_of(again)));
}

TEST(Checkpoint, TakesSeveralTensorsAndDerivativesOfHigherOrder) {
  const Tensor x = leaf({2}), w = leaf({3});
  const Tensor inputs[] = {x, w};
  const auto function = [](std::span<const Tensor> all) {
    return std::vector<Tensor>{all[0] * all[0] * all[1], all[1] * all[1]};
  };
  const std::vector<Tensor> outs = checkpoint(function, inputs);
  const Tensor total = outs[0] + outs[1];
  const Tensor first = grad(std::span(&total, 1), std::span(&x, 1), {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), Floats{12});  // 2 x w
  backward(first);
  EXPECT_EQ(floats(grad_of(x)), Floats{6});  // 2 w
  EXPECT_EQ(floats(grad_of(w)), Floats{4});  // 2 x
}

}  // namespace
}  // namespace ebb
