// tests/autograd/engine/grad_test.cpp -- grad(): inputs of every kind, unused ones, higher order.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

std::vector<Tensor> grads(const Tensor& out, const std::vector<Tensor>& inputs,
                          const GradOptions& options = {}) {
  return grad(std::span(&out, 1), inputs, {}, options);
}

TEST(Grad, ReturnsGradientsAndTouchesNone) {
  const Tensor x = leaf({2});
  const Tensor y = leaf({5});
  const std::vector<Tensor> found = grads(x * y, {y, x});
  EXPECT_EQ(floats(found[0]), Floats{2});
  EXPECT_EQ(floats(found[1]), Floats{5});
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Grad, RunsOnlyWhatLeadsToAnInput) {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  int runs = 0;
  const auto count = [&](const Tensor& grad) {
    ++runs;
    return grad;
  };
  const Tensor out = with_rule(x, count) + with_rule(with_rule(y, count), count);
  grads(out, {x});
  EXPECT_EQ(runs, 1);
}

TEST(Grad, TakesInputsThatAreOutputsOfOneNode) {
  const Tensor x = leaf({1, 2, 3});
  const std::vector<Tensor> parts = split(x, Shape{1, 2}, 0);
  const std::vector<Tensor> found =
      grads(sum(parts[0] * 7) + sum(parts[1] * 9), {parts[1], parts[0]});
  EXPECT_EQ(floats(found[0]), (Floats{9, 9}));
  EXPECT_EQ(floats(found[1]), Floats{7});
}

TEST(Grad, TakesAnInputOnThePathOfAnother) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  const std::vector<Tensor> found = grads(y * y, {x, y});
  EXPECT_EQ(floats(found[0]), Floats{36});
  EXPECT_EQ(floats(found[1]), Floats{12});
}

TEST(Grad, TakesAnOutputAsInputAndInputsTwice) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  const std::vector<Tensor> found = grads(y, {y, x, x});
  EXPECT_EQ(floats(found[0]), Floats{1});
  EXPECT_EQ(floats(found[1]), Floats{3});
  EXPECT_EQ(floats(found[2]), Floats{3});
}

TEST(Grad, TreatsUnusedInputsAsAsked) {
  const Tensor x = leaf({1});
  const Tensor unused = leaf({1, 1});
  const Tensor y = x * 2;
  const std::string text = error_of<ValueError>([&] {
    grads(y, {x, unused}, {.retain_graph = true});
  });
  EXPECT_EQ(text.find("grad: input 1 (float32 [2]) must have been used"), 0u) << text;
  EXPECT_FALSE(grads(y, {unused}, {.retain_graph = true, .allow_unused = true})[0].defined());
  EXPECT_EQ(floats(grads(y, {unused}, {.materialize_grads = true})[0]), (Floats{0, 0}));
}

TEST(Grad, RefusesInputsThatNeedNoGradient) {
  const Tensor x = leaf({1});
  const Tensor plain = vector_of<float>({1});
  EXPECT_NE(error_of<AutogradError>([&] { grads(x * plain, {plain}); }).find("grad: input 0"),
            std::string::npos);
  EXPECT_EQ(error_of<ValueError>([&] { grads(x * 2, {}); }),
            "grad: needs at least one input, got none");
}

TEST(Grad, DifferentiatesItsOwnResultsToTheFourthOrder) {
  const Tensor x = leaf({2});
  Tensor value = x * x * x * x;
  const Floats expected = {32, 48, 48, 24};  // 4x^3, 12x^2, 24x, 24
  for (const float derivative : expected) {
    value = grads(value, {x}, {.create_graph = true})[0];
    EXPECT_EQ(floats(value), Floats{derivative});
  }
}

TEST(Grad, DifferentiatesThroughSavedOutputs) {
  const Tensor x = leaf({0.5f});
  const Tensor first = grads(exp(x), {x}, {.create_graph = true})[0];
  const Tensor second = grads(first, {x})[0];
  EXPECT_NEAR(second.item<float>(), 1.6487212f, 1e-6f);
}

TEST(Grad, RecordsTheLineOfTheForwardOpInHigherOrderNodes) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  const LocationId forward_line = autograd::grad_fn(y)->location();
  const Tensor first = grads(y, {x}, {.create_graph = true})[0];
  EXPECT_EQ(autograd::grad_fn(first)->location(), forward_line);
}

TEST(Grad, AddsTheGradientsOfSeveralOutputs) {
  const Tensor x = leaf({3});
  const Tensor outputs[] = {x * 2, x * x};
  const Tensor seeds[] = {vector_of<float>({10}), Tensor()};
  EXPECT_EQ(floats(grad(outputs, std::span(&x, 1), seeds)[0]), Floats{26});
}

TEST(Grad, VisitsNothingBehindItsInputs) {
  const Tensor x = leaf({3});
  const Tensor behind = x * 2;
  const Tensor input = behind * 3;
  const Tensor beside = behind * 5;  // recorded after the input
  const Tensor out = input * input * beside;
  EXPECT_EQ(floats(grads(out, {input}, {.retain_graph = true})[0]), Floats{2 * 18 * 30});
  EXPECT_EQ(autograd::NodeAccess::task(*autograd::grad_fn(behind)), 0u);
  EXPECT_NE(autograd::NodeAccess::task(*autograd::grad_fn(beside)), 0u);
  backward(out);
  EXPECT_EQ(floats(grad_of(x)), Floats{1080 * 9});  // out is 360 x^3
}

TEST(Grad, OfABatchStacksTheGradientsOfEachEntry) {
  const Tensor x = leaf({3, 4});
  const Tensor outputs[] = {x * 2, x * x, sum(x)};
  const Tensor ones = tensor_of<float>({1, 0, 0, 1}, {2, 2});
  const Tensor seeds[] = {ones, ones, Tensor()};  // of all entries the last one is 1
  const Tensor stacked = grad(outputs, std::span(&x, 1), seeds, {.is_grads_batched = true})[0];
  EXPECT_EQ(floats(stacked), (Floats{2 + 6 + 1, 1, 1, 2 + 8 + 1}));
}

TEST(Grad, OfABatchFreesTheGraphWithTheLastEntryUnlessAskedToKeepIt) {
  const Tensor x = leaf({3});
  const Tensor seeds = tensor_of<float>({1, 2}, {2, 1});
  const Tensor out = x * x;
  GradOptions options = {.is_grads_batched = true};
  for (const bool is_kept : {true, false}) {
    options.retain_graph = is_kept;
    grad(std::span(&out, 1), std::span(&x, 1), std::span(&seeds, 1), options);
  }
  EXPECT_THROW(backward(out), AutogradError);
}

TEST(Grad, OfABatchIsZeroForAnEntryThatGivesNone) {
  const Tensor x = leaf({3});
  int runs = 0;
  const Tensor out =
      with_rule(x, [&](const Tensor& grad) { return ++runs == 1 ? Tensor() : grad; });
  const Tensor seeds = tensor_of<float>({5, 7}, {2, 1});
  const GradOptions options = {.is_grads_batched = true};
  EXPECT_EQ(floats(grad(std::span(&out, 1), std::span(&x, 1), std::span(&seeds, 1), options)[0]),
            (Floats{0, 7}));
}

TEST(Grad, OfABatchNeedsASeedThatHasOne) {
  const Tensor x = leaf({3});
  const Tensor out = x * 2;
  const auto refused = [&](const Tensor& seed) {
    return error_of<ValueError>([&] {
      grad(std::span(&out, 1), std::span(&x, 1), std::span(&seed, 1), {.is_grads_batched = true});
    });
  };
  const std::string needs = "grad: is_grads_batched needs gradients with at least one entry, got ";
  EXPECT_EQ(refused(Tensor()), needs + "none");
  EXPECT_EQ(refused(tensor_of<float>({}, {0, 1})), needs + "an empty batch");
}

TEST(Grad, NeedsOneSeedPerOutput) {
  const Tensor x = leaf({3});
  const Tensor out = x * 2;
  const Tensor seeds[] = {Tensor(), Tensor()};
  EXPECT_EQ(error_of<ValueError>([&] { grad(std::span(&out, 1), std::span(&x, 1), seeds); }),
            "grad: needs one gradient per tensor, got 2 for 1");
}

}  // namespace
}  // namespace ebb
