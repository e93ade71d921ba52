// tests/autograd/rules/recompute_test.cpp -- derivatives of fused ops from a composite of plain
// ones.
#include "ebb/autograd/rules/network/recompute.h"

#include <gtest/gtest.h>

#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::rules::recomputed_grads;
using autograd::rules::recomputed_second_grads;
using autograd::rules::recomputed_tangents;

/// x^2 y and x + y.
std::vector<Tensor> two_outputs(std::span<const Tensor> in) {
  return {in[0] * in[0] * in[1], in[0] + in[1]};
}

TEST(Recompute, WeighsTheOutputs) {
  const Tensor inputs[] = {vector_of<float>({3}), vector_of<float>({5})};
  const Tensor weights[] = {vector_of<float>({1}), vector_of<float>({100})};
  const auto grads = recomputed_grads(two_outputs, inputs, weights);
  EXPECT_EQ(floats(grads[0]), Floats{130});  // 2xy + 100
  EXPECT_EQ(floats(grads[1]), Floats{109});  // x^2 + 100
  EXPECT_TRUE(is_leaf(grads[0]));
}

TEST(Recompute, TakesAnUndefinedWeightForNothing) {
  const Tensor inputs[] = {vector_of<float>({3}), vector_of<float>({5})};
  const Tensor weights[] = {Tensor(), vector_of<float>({1})};
  const auto grads = recomputed_grads(two_outputs, inputs, weights);
  EXPECT_EQ(floats(grads[0]), Floats{1});
}

TEST(Recompute, GivesWhatIsWantedOnly) {
  const Tensor inputs[] = {vector_of<float>({3}), vector_of<float>({5})};
  const Tensor weights[] = {vector_of<float>({1}), Tensor()};
  const auto grads = recomputed_grads(two_outputs, inputs, weights, 0b10);
  EXPECT_FALSE(grads[0].defined());
  EXPECT_EQ(floats(grads[1]), Floats{9});
}

TEST(Recompute, StaysConnectedToInputsAndWeightsWhileRecording) {
  const Tensor inputs[] = {leaf({3}), leaf({5})};
  const Tensor weights[] = {leaf({2}), Tensor()};
  const auto grads = recomputed_grads(two_outputs, inputs, weights);
  backward(grads[0]);  // 2xyw
  EXPECT_EQ(floats(grad_of(inputs[0])), Floats{20});
  EXPECT_EQ(floats(grad_of(inputs[1])), Floats{12});
  EXPECT_EQ(floats(grad_of(weights[0])), Floats{30});
}

TEST(Recompute, GivesTheGradientOfABackwardOp) {
  const Tensor inputs[] = {vector_of<float>({3}), vector_of<float>({5})};
  const Tensor weights[] = {vector_of<float>({2}), vector_of<float>({1})};
  const Tensor grads_of[] = {vector_of<float>({1}), vector_of<float>({10})};
  // The backward op gives 2xyw + v and x^2 w + v: weighted by 1 and 10.
  const auto grads = recomputed_second_grads(two_outputs, inputs, weights, grads_of);
  EXPECT_EQ(floats(grads[0]), Floats{2 * 5 * 2 + 10 * 2 * 3 * 2});
  EXPECT_EQ(floats(grads[1]), Floats{2 * 3 * 2});
  EXPECT_EQ(floats(grads[2]), Floats{2 * 3 * 5 + 10 * 9});
  EXPECT_EQ(floats(grads[3]), Floats{11});
}

TEST(Recompute, MovesOutputsAlongTangents) {
  const Tensor inputs[] = {vector_of<float>({3}), vector_of<float>({5})};
  const Tensor tangents[] = {vector_of<float>({1}), Tensor()};
  const auto moved = recomputed_tangents(two_outputs, inputs, tangents);
  EXPECT_EQ(floats(moved[0]), Floats{30});
  EXPECT_EQ(floats(moved[1]), Floats{1});
}

TEST(Recompute, DifferentiatesTwiceInsideARun) {
  const Tensor x = leaf({3});
  const Tensor out = with_rule(x, [&](const Tensor& grad) {  // the rule of x^3
    const auto cube = [](std::span<const Tensor> in) { return std::vector{in[0] * in[0] * in[0]}; };
    return recomputed_grads(cube, std::span(&x, 1), std::span(&grad, 1))[0];
  });
  const Tensor first = grad(std::span(&out, 1), std::span(&x, 1), {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), Floats{27});
  backward(first);
  EXPECT_EQ(floats(grad_of(x)), Floats{18});
}

}  // namespace
}  // namespace ebb
