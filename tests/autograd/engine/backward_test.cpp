// tests/autograd/engine/backward_test.cpp -- backward(): values, roots, seeds, accumulation,
// errors.
#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(Backward, AddsGradientsWhenOneTensorFeedsTwoOps) {
  const Tensor x = leaf({3});
  backward(x * x + x);
  EXPECT_EQ(floats(grad_of(x)), Floats{7});  // d(x^2 + x)/dx = 2x + 1 at 3
}

TEST(Backward, RunsEachNodeOnceHoweverManyEdgesLeadThere) {
  const Tensor x = leaf({1});
  int runs = 0;
  const Tensor y = with_rule(x, [&](const Tensor& grad) {
    ++runs;
    return grad;
  });
  std::vector<Tensor> roots{y, y};  // a root may also lie behind others
  for (int count = 0; count < 100; ++count) roots.push_back(y + y);
  backward(roots);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(floats(grad_of(x)), Floats{202});
  for (const Tensor& root : roots) {  // all edges were counted down, and none twice
    const auto state = autograd::NodeAccess::pending(*autograd::grad_fn(root));
    EXPECT_TRUE(state == 0 || state == (1u << 27) - 1) << state;  // the second: it was a start
  }
}

TEST(Backward, RunsADiamondOnce) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  backward(y * y + y);
  EXPECT_EQ(floats(grad_of(x)), Floats{39});  // (2 * 6 + 1) * 3
}

TEST(Backward, AccumulatesOverCallsAndKeepsTheGradientsIdentity) {
  const Tensor x = leaf({1, 2});
  backward(sum(x * 2));
  const Tensor first = grad_of(x);
  backward(sum(x * 5));
  EXPECT_TRUE(grad_of(x).is_same(first));
  EXPECT_EQ(floats(first), (Floats{7, 7}));
}

TEST(Backward, TakesTheSameRootTwice) {
  const Tensor x = leaf({1});
  const Tensor y = x * 4;
  const Tensor roots[] = {y, y};
  backward(roots);
  EXPECT_EQ(floats(grad_of(x)), Floats{8});
}

TEST(Backward, TakesARootThatIsAnAncestorOfAnother) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  const Tensor roots[] = {y, y * 3};
  backward(roots);
  EXPECT_EQ(floats(grad_of(x)), Floats{8});  // 2 + 2 * 3
}

TEST(Backward, TakesALeafAsRoot) {
  const Tensor x = leaf({5});
  backward(x);
  EXPECT_EQ(floats(grad_of(x)), Floats{1});
}

TEST(Backward, UsesTheSeedAndNeverKeepsOrChangesIt) {
  const Tensor x = leaf({1, 1});
  const Tensor seed = vector_of<float>({2, 3});
  backward(x + x, seed);
  backward(x, seed);
  EXPECT_EQ(floats(grad_of(x)), (Floats{6, 9}));
  EXPECT_EQ(floats(seed), (Floats{2, 3}));
  EXPECT_NE(grad_of(x).data_ptr(), seed.data_ptr());
}

TEST(Backward, GivesOrdinaryGradientsInInferenceMode) {
  const Tensor x = leaf({1});
  const Tensor out = x + 1.0;
  {
    const InferenceModeGuard inference;
    backward(out);
  }
  EXPECT_FALSE(is_inference(grad_of(x)));
}

TEST(Backward, GivesTwoLeavesGradientsOfTheirOwn) {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  backward(x + y);
  EXPECT_NE(grad_of(x).data_ptr(), grad_of(y).data_ptr());
}

TEST(Backward, CastsASeedOfAnotherFloatingType) {
  const Tensor x = leaf({1});
  backward(x * 2, vector_of<double>({4}));
  EXPECT_EQ(grad_of(x).dtype(), DType::float32);
  EXPECT_EQ(floats(grad_of(x)), Floats{8});
}

TEST(Backward, UndoesABroadcast) {
  const Tensor row = leaf({1, 2, 3});
  const Tensor column = requires_grad_(tensor_of<float>({1, 2}, {2, 1}));
  backward(sum(row * column));
  EXPECT_EQ(floats(grad_of(row)), (Floats{3, 3, 3}));
  EXPECT_EQ(floats(grad_of(column)), (Floats{6, 6}));
  EXPECT_EQ(grad_of(column).shape(), (Shape{2, 1}));
}

TEST(Backward, ReturnsGradientsInTheTypeOfEachOperand) {
  const Tensor narrow = leaf({2});
  const Tensor wide = requires_grad_(vector_of<double>({3}));
  backward(narrow * wide);
  EXPECT_EQ(grad_of(narrow).dtype(), DType::float32);
  EXPECT_EQ(grad_of(wide).dtype(), DType::float64);
  EXPECT_EQ(floats(grad_of(narrow)), Floats{3});
}

TEST(Backward, RestrictsItselfToGivenInputs) {
  const Tensor x = leaf({2});
  const Tensor y = leaf({3});
  const Tensor product = x * y;
  const Tensor inputs[] = {x, product};
  backward(product * product, {}, {.inputs = inputs});
  EXPECT_EQ(floats(grad_of(x)), Floats{36});        // 2 * 6 * 3
  EXPECT_EQ(floats(grad_of(product)), Floats{12});  // kept although it is no leaf
  EXPECT_FALSE(grad_of(y).defined());
}

TEST(Backward, CountsAnInputOnceHoweverOftenItIsNamed) {
  const Tensor x = leaf({2});
  const Tensor product = x * 3;
  retain_grad(product);  // named, and kept by the run as well
  const Tensor inputs[] = {x, x, product, x, product};
  backward(product * product, {}, {.inputs = inputs});
  EXPECT_EQ(floats(grad_of(x)), Floats{36});  // 2 * 6 * 3
  EXPECT_EQ(floats(grad_of(product)), Floats{12});
}

TEST(Backward, TakesNoInputThatIsUndefined) {
  const Tensor inputs[] = {Tensor()};
  const Tensor x = leaf({2});
  EXPECT_EQ(error_of<ValueError>([&] { backward(x, {}, {.inputs = inputs}); }),
            "backward: input 0 must be a tensor, got an undefined one");
}

TEST(Backward, LeavesAnUnreachedLeafWithoutGradient) {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  backward(x * 1);
  EXPECT_FALSE(grad_of(y).defined());
}

TEST(Backward, RefusesWrongRootsAndSeeds) {
  const Tensor x = leaf({1, 2});
  const Tensor plain = vector_of<float>({1, 2});
  EXPECT_EQ(error_of<ValueError>([] { backward(std::span<const Tensor>{}); }),
            "backward: needs at least one tensor, got none");
  EXPECT_NE(
      error_of<AutogradError>([&] { backward(x); }).find("must have one real floating element"),
      std::string::npos);
  EXPECT_NE(
      error_of<AutogradError>([&] { backward(plain, plain); }).find("must require a gradient"),
      std::string::npos);
  EXPECT_EQ(error_of<ShapeError>([&] { backward(x, vector_of<float>({1})); }),
            "backward: gradient 0 must have its tensor's shape [2], got [1]");
  EXPECT_EQ(error_of<DTypeError>([&] {
              backward(x, vector_of<int64_t>({1, 2}));
            }),
            "backward: gradient 0 must be real floating like its float32 tensor, got int64");
}

TEST(Backward, SaysWhichLineCutTheHistoryOfItsRoot) {
  const Tensor x = leaf({1});
  Tensor cut;
  {
    const NoGradGuard guard;
    cut = x * 2;
  }
  const std::string text = error_of<AutogradError>([&] { backward(cut * 3); });
  EXPECT_NE(text.find("cut under no_grad at"), std::string::npos) << text;
  EXPECT_NE(text.find("backward_test.cpp"), std::string::npos) << text;
}

TEST(Backward, KeepsTheGradientOfATensorThatAskedForIt) {
  const Tensor x = leaf({2});
  const Tensor y = x * 3;
  retain_grad(y);
  const Tensor z = y * y;
  backward(z, {}, {.retain_graph = true});
  EXPECT_EQ(floats(grad_of(y)), Floats{12});
  backward(z);
  EXPECT_EQ(floats(grad_of(y)), Floats{24});  // it accumulates like a leaf's
}

TEST(Backward, PassesUndefinedGradientsThroughSplit) {
  const Tensor x = leaf({1, 2, 3});
  const std::vector<Tensor> parts = split(x, Shape{1, 2}, 0);
  backward(sum(parts[1] * 2));
  EXPECT_EQ(floats(grad_of(x)), (Floats{0, 2, 2}));
}

TEST(Backward, TurnsRecordingOffUnlessAGraphIsAskedFor) {
  const Tensor x = leaf({1});
  bool was_enabled = true;
  backward(with_rule(x, [&](const Tensor& grad) {
    was_enabled = is_grad_enabled();
    return grad;
  }));
  EXPECT_FALSE(was_enabled);
  EXPECT_TRUE(is_grad_enabled());
}

}  // namespace
}  // namespace ebb
