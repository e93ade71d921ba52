// tests/autograd/engine/entry_test.cpp -- places as roots and inputs, edges cut for one call,
// batches.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/split.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(Entry, StartsFromAnEdgeAfterItsTensorIsGone) {
  const Tensor x = leaf({3});
  std::vector<Place> roots;
  {
    const Tensor y = x * x;
    roots.emplace_back(get_gradient_edge(y));
  }
  backward_from(roots);
  EXPECT_EQ(floats(grad_of(x)), Floats{6});
}

TEST(Entry, GivesGradientsAtEdges) {
  const Tensor x = leaf({3});
  const Tensor h = x * 2;
  const Tensor out = h * h;
  const std::vector<Place> inputs = {get_gradient_edge(h), get_gradient_edge(x), h};
  EXPECT_EQ(first_of_each(grad_between({{Place(out)}}, inputs)), (Floats{12, 24, 12}));
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Entry, AnEdgeStaysThatOfTheTensorBeforeAnInPlaceWrite) {
  const Tensor x = leaf({3});
  const Tensor h = x * 2;
  const autograd::GradientEdge before = get_gradient_edge(h);
  mul_(h, 5);
  const std::vector<Place> inputs = {before, h};
  EXPECT_EQ(first_of_each(grad_between({{Place(h)}}, inputs)), (Floats{5, 1}));
}

TEST(Entry, RefusesAnOutputNumberThatTheNodeDoesNotHave) {
  const Tensor x = leaf({3});
  autograd::GradientEdge edge = get_gradient_edge(x * 2);
  edge.output_nr = 1;
  const std::string text = error_of<IndexError>([&] { backward_from({{Place(edge)}}); });
  EXPECT_NE(text.find("which has 1, got number 1"), text.npos) << text;
  EXPECT_THROW(get_gradient_edge(vector_of<float>({1})), AutogradError);
}

TEST(Entry, RunsRootsThatAreAncestorsOfRoots) {
  const Tensor x = leaf({2});
  const Tensor c = x * 3, d = c * c, e = d * 2;
  const Tensor roots[] = {e, c, d};
  backward(roots);
  // e = 18 x^2, c = 3 x, d = 9 x^2
  EXPECT_EQ(floats(grad_of(x)), Floats{72 + 3 + 36});
}

TEST(Entry, TakesSeveralOutputsOfOneNodeAsInputs) {
  const Tensor x = leaf({1, 2});
  const std::vector<Tensor> parts = split(x * 1, 1);
  const Tensor out = parts[0] * 3 + parts[1] * 5;
  const std::vector<Tensor> grads = grad({{out}}, parts);
  EXPECT_EQ(first_of_each(grads), (Floats{3, 5}));
}

TEST(Entry, TakesAnOutputAsAnInput) {
  const Tensor x = leaf({4});
  const Tensor y = x * 7;
  const Tensor outputs[] = {y, x};
  EXPECT_EQ(first_of_each(grad({{x}}, {{x}}, {{vector_of<float>({5})}})), Floats{5});
  EXPECT_EQ(first_of_each(grad(outputs, {{x}})), Floats{8});
}

TEST(Entry, AddsToEveryOtherLeafIfNotOnlyInputs) {
  const Tensor x = leaf({2}), y = leaf({3}), z = leaf({5});
  const Tensor out = x * y * z;
  const std::vector<Tensor> grads = grad({{out}}, {{x}}, {}, {.only_inputs = false});
  EXPECT_EQ(first_of_each(grads), Floats{15});
  EXPECT_FALSE(grad_of(x).defined());
  EXPECT_EQ(floats(grad_of(y)), Floats{10});
  EXPECT_EQ(floats(grad_of(z)), Floats{6});
}

TEST(Entry, CutsExactlyTheEdgesOfNoGradVars) {
  const Tensor x = leaf({2});
  const Tensor left = x * 3, right = x * 5;
  const Tensor out = left * right;
  const std::vector<Place> cuts = {right};
  const GradOptions options = {.retain_graph = true, .no_grad_vars = cuts};
  EXPECT_EQ(first_of_each(grad({{out}}, {{x}}, {}, options)), Floats{30});  // 3 * right
  EXPECT_TRUE(right.requires_grad());
  EXPECT_EQ(first_of_each(grad({{out}}, {{x}}, {}, {.retain_graph = true})), Floats{60});
}

TEST(Entry, CutsOneOutputOfANodeAndLeavesTheOthers) {
  const Tensor x = leaf({1, 2});
  const std::vector<Tensor> parts = split(x * 1, 1);
  const std::vector<Place> cuts = {parts[1]};
  const Tensor out = parts[0] * 3 + parts[1] * 5;
  EXPECT_EQ(floats(grad({{out}}, {{x}}, {}, {.no_grad_vars = cuts})[0]), (Floats{3, 0}));
}

TEST(Entry, AnInputBehindACutIsUnused) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  const std::vector<Place> cuts = {h, vector_of<float>({1})};
  const GradOptions options = {.allow_unused = true, .no_grad_vars = cuts};
  EXPECT_EQ(first_of_each(grad({{h * 2}}, {{x}}, {}, options)), Floats{-1});
  EXPECT_EQ(first_of_each(grad({{h}}, {{h}}, {}, options)), Floats{-1});
}

TEST(Entry, RunsOnceForEachEntryOfABatch) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x;
  const Tensor seeds = reshape(vector_of<float>({1, 0, 0, 1}), Shape{2, 2});
  const std::vector<Tensor> grads = grad({{y}}, {{x}}, {{seeds}}, {.is_grads_batched = true});
  EXPECT_EQ(floats(grads[0]), (Floats{4, 0, 0, 6}));
  EXPECT_EQ(Shape(grads[0].sizes()), (Shape{2, 2}));
  EXPECT_THROW(grad({{y}}, {{x}}, {{seeds}}), ShapeError);
}

TEST(Entry, RefusesBatchesThatDoNotAgree) {
  const Tensor x = leaf({2});
  const Tensor outputs[] = {x * 1, x * 2};
  const Tensor seeds[] = {reshape(vector_of<float>({1, 1}), Shape{2, 1}),
                          reshape(vector_of<float>({1, 1, 1}), Shape{3, 1})};
  const std::string text =
      error_of<ShapeError>([&] { grad(outputs, {{x}}, seeds, {.is_grads_batched = true}); });
  EXPECT_NE(text.find("must be the batch, of 2, got [3, 1] for gradient 1"), text.npos) << text;
  EXPECT_THROW(grad(outputs, {{x}}, {}, {.is_grads_batched = true}), ValueError);
}

TEST(Entry, BackwardInputsRunTheHooksOfLeaves) {
  const Tensor x = leaf({2}), y = leaf({3});
  int calls = 0;
  register_post_accumulate_grad_hook(x, [&](const Tensor&) { ++calls; });
  const std::vector<Place> inputs = {get_gradient_edge(x)};
  backward(x * y, {}, {.input_places = inputs});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(floats(grad_of(x)), Floats{3});
  EXPECT_FALSE(grad_of(y).defined());
}

TEST(Entry, BackwardInputsFillLeavesAndResultsInOnePass) {
  const Tensor x = leaf({2});
  const Tensor h = x * 3;
  const Tensor inputs[] = {h, x, h, x};
  backward(h * h, {}, {.inputs = inputs});
  EXPECT_EQ(floats(grad_of(h)), Floats{12});
  EXPECT_EQ(floats(grad_of(x)), Floats{36});
}

TEST(Entry, RunsOnlyWhatLeadsToTheInput) {
  Tensor total;
  int runs = 0;
  std::vector<Tensor> leaves;
  for (int index = 0; index < 1000; ++index) {
    leaves.push_back(leaf({1}));
    const Tensor used = with_rule(leaves.back(), [&](const Tensor& grad) { return ++runs, grad; });
    total = total.defined() ? total + used : used;
  }
  grad({{total}}, {{leaves[500]}});
  EXPECT_EQ(runs, 1);
}

TEST(Entry, CallsANodeByHand) {
  const Tensor x = leaf({2}), y = leaf({5});
  const Tensor out = x * y;
  autograd::Node& node = *autograd::grad_fn(out);
  const Tensor seeds[] = {vector_of<float>({3}), vector_of<float>({3})};
  EXPECT_EQ(first_of_each(autograd::call_node(node, {seeds, 1})), (Floats{15, 6}));
  const std::string text = error_of<DTypeError>([&] { autograd::call_node(node, seeds); });
  EXPECT_NE(text.find("expected 1 arguments, got 2 instead"), text.npos) << text;
  EXPECT_TRUE(autograd::call_node(*autograd::gradient_edge(x).node, {seeds, 1}).empty());
  EXPECT_EQ(floats(grad_of(x)), Floats{3});
}

TEST(CallNode, PassesOnWhatTheNodeGivesAndNothingWhereItGivesNone) {
  const Tensor x = leaf({3});
  const Tensor none = with_rule(x, [](const Tensor&) { return Tensor(); });
  const Tensor one = vector_of<float>({1});
  EXPECT_FALSE(autograd::call_node(*autograd::grad_fn(none), std::span(&one, 1))[0].defined());
  const Tensor product = x * vector_of<float>({5});  // of its edges one leads nowhere
  const std::vector<Tensor> grads =
      autograd::call_node(*autograd::grad_fn(product), std::span(&one, 1));
  EXPECT_EQ(floats(grads[0]), Floats{5});
}

TEST(CallNode, GivesWhatNoEdgeTakesAsItIsAndTheOthersTheShapeOfTheirInput) {
  const auto wide = [](const Tensor&) { return tensor_of<float>({1, 2, 3, 4}, {2, 2}); };
  const Tensor one = vector_of<float>({1, 1});
  const Tensor taken = with_rule(leaf({1, 2}), wide);
  const Tensor lost = with_rule(vector_of<float>({1, 2}), wide);
  const auto called = [&](const Tensor& tensor) {
    return floats(autograd::call_node(*autograd::grad_fn(tensor), std::span(&one, 1))[0]);
  };
  EXPECT_EQ(called(taken), (Floats{4, 6}));
  EXPECT_EQ(called(lost), (Floats{1, 2, 3, 4}));
}

}  // namespace
}  // namespace ebb
