// tests/autograd/history/recording_test.cpp -- what generated recording functions record, save and
// refuse.
#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/jvp_table.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

Tensor leaf(std::initializer_list<float> values) { return requires_grad_(vector_of(values)); }
std::string node_name(const Tensor& tensor) { return autograd::grad_fn(tensor)->name(); }

TEST(Recording, HappensOnlyIfAnOperandRequiresAGradient) {
  const Tensor x = vector_of<float>({1, 2});
  EXPECT_FALSE((x + x).requires_grad());
  EXPECT_TRUE((x + leaf({1, 2})).requires_grad());
  EXPECT_EQ(node_name(leaf({1}) * x), "MulBackward");
  EXPECT_EQ(node_name(leaf({1}) * 2), "MulScalarBackward");
}

TEST(Recording, NeverHappensForIntegerResults) {
  const Tensor above = leaf({1, 2}) > 1;
  EXPECT_FALSE(above.requires_grad());
}

TEST(Recording, IsCutUnderNoGradAndSaysSo) {
  const Tensor x = leaf({1, 2});
  const NoGradGuard guard;
  const Tensor y = exp(x);
  EXPECT_FALSE(y.requires_grad());
  const Tensor later = y + 1;  // inherits the reason
  EXPECT_NE(autograd::explain_origin(later).find("no_grad"), std::string::npos)
      << autograd::explain_origin(later);
}

TEST(Recording, LeavesNoEdgeForOperandsWithoutGradient) {
  const Tensor out = vector_of<float>({1}) * leaf({2});
  const autograd::Node* const node = autograd::grad_fn(out);
  EXPECT_EQ(node->edges()[0].node, nullptr);
  EXPECT_NE(node->edges()[1].node, nullptr);
}

TEST(Saving, KeepsAnOperandOnlyIfAGradientNeedsIt) {
  const Tensor x = leaf({1, 2});
  const Tensor constant = vector_of<float>({3, 4});
  const uint32_t before = constant.impl()->refs.value();
  const Tensor product = x * constant;  // the gradient of x needs the constant
  EXPECT_EQ(constant.impl()->refs.value(), before + 1);
  const Tensor sum = x + constant;  // nobody needs it
  EXPECT_EQ(constant.impl()->refs.value(), before + 1);
  const Tensor other = vector_of<float>({5, 6});
  const Tensor quotient = other / constant;
  EXPECT_EQ(other.impl()->refs.value(), 1u);
}

TEST(Saving, LetsGoAfterTheRun) {
  const Tensor x = leaf({1, 2});
  const Tensor constant = vector_of<float>({3, 4});
  const Tensor loss = sum(x * constant);
  backward(loss);
  EXPECT_EQ(constant.impl()->refs.value(), 1u);
}

TEST(InPlaceRecording, RewritesTheHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  mul_(y, y + 0);
  EXPECT_EQ(node_name(y), "MulBackward");
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{18, 36}));  // d(9 x^2) = 18 x
}

TEST(InPlaceRecording, SavesTheOldValueIfTheOtherOperandNeedsIt) {
  const Tensor x = leaf({2});
  const Tensor y = vector_of<float>({5});
  mul_(y, x);
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{5}));
}

TEST(InPlaceRecording, SavesTheNewValueOfAResult) {
  const Tensor x = leaf({0.5f});
  const Tensor y = x * 1;
  exp_(y);
  backward(sum(y));
  EXPECT_FLOAT_EQ(floats(grad_of(x))[0], std::exp(0.5f));
}

TEST(InPlaceRecording, IsRefusedForALeaf) {
  const Tensor x = leaf({1});
  EXPECT_EQ(error_of<AutogradError>([&] { add_(x, 1); }).substr(0, 60),
            "add_: a leaf that requires a gradient must not be written in");
  const NoGradGuard guard;
  add_(x, 1);
  EXPECT_EQ(floats(x), (Floats{2}));
}

TEST(InPlaceRecording, MakesAValueSavedBeforeStale) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  const Tensor z = y * y;
  add_(y, 1);
  const std::string text = error_of<AutogradError>([&] { backward(sum(z)); });
  EXPECT_NE(text.find("modified in place by add_"), std::string::npos) << text;
}

TEST(OutForms, RefuseOperandsThatRequireAGradient) {
  const Tensor out = empty(Shape{1}, DType::float32);
  const Tensor x = leaf({1});
  EXPECT_EQ(error_of<AutogradError>([&] { add_out(x, x, out); }),
            "add_out: the out= form is not differentiable and needs operands that require no "
            "gradient, got one that does\nhint: use the plain form, or call it under no_grad");
  const NoGradGuard guard;
  EXPECT_EQ(floats(add_out(x, x, out)), (Floats{2}));
}

using Arguments = std::vector<autograd::Argument>;

TEST(Jvp, OfAProductSumsBothTangents) {
  const autograd::JvpRule* const rule = autograd::find_jvp_rule("mul");
  ASSERT_NE(rule, nullptr);
  const Arguments arguments = {vector_of<float>({2}), vector_of<float>({3})};
  const Arguments tangents = {vector_of<float>({10}), vector_of<float>({100})};
  EXPECT_EQ(floats(rule->function(arguments, tangents)[0]), (Floats{230}));
  const Arguments only_second = {std::monostate(), vector_of<float>({100})};
  EXPECT_EQ(floats(rule->function(arguments, only_second)[0]), (Floats{200}));
}

TEST(Jvp, RefusesArgumentsOfAnotherType) {
  const autograd::JvpRule* const rule = autograd::find_jvp_rule("mul.Scalar");
  const Arguments arguments = {vector_of<float>({2}), 1.0};
  EXPECT_EQ(
      error_of<ValueError>([&] { rule->function(arguments, {}); }),
      "mul.Scalar: the forward-mode rule needs an argument of another type at position 1, got "
      "what the op does not take");
  EXPECT_EQ(autograd::find_jvp_rule("greater"), nullptr);
}

}  // namespace
}  // namespace ebb
