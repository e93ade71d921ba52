// tests/autograd/checkpoint/checkpoint_test.cpp -- checkpointed functions, called from C++.
#include "ebb/autograd/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/cos.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/watch/saved_report.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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

TEST(Checkpoint, KeepsItsInputsOnly) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = checkpoint([](const Tensor& input) { return exp(sin(exp(sin(input)))); }, x);
  EXPECT_EQ(autograd::saved_bytes(std::span(&y, 1)), 0u);
}

TEST(Checkpoint, Nests) {
  const Tensor x = leaf({0.5f}), again = leaf({0.5f});
  const auto inner = [](const Tensor& input) { return exp(sin(input)); };
  const auto outer = [&](const Tensor& input) { return sin(checkpoint(inner, cos(input))); };
  backward(checkpoint(outer, x));
  backward(sin(inner(cos(again))));
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

TEST(Checkpoint, RefusesARecomputationThatSavesLess) {
  const Tensor x = leaf({1});
  int calls = 0;
  const auto function = [&calls](const Tensor& input) {
    return ++calls == 1 ? exp(sin(input)) : input * 1;
  };
  const Tensor y = checkpoint(function, x);
  const std::string text = error_of<AutogradError>([&] { backward(y); });
  EXPECT_TRUE(contains(text, "2 in the forward pass, 0 in the recomputation")) << text;
}

TEST(Checkpoint, DrawsTheSameRandomNumbersFromAGeneratorOfItsOwn) {
  const Tensor x = leaf({1, 1, 1, 1, 1, 1, 1, 1});
  const auto function = [](const Tensor& input) { return input * dropout(input, 0.5); };
  const Tensor y = checkpoint(function, x);
  const RandomState between = default_generator().state();
  backward(sum(y));
  EXPECT_EQ(default_generator().state().offset, between.offset);
  EXPECT_EQ(floats(grad_of(x)), floats(y * 2));
}

}  // namespace
}  // namespace ebb
