// tests/autograd/history/variable_test.cpp -- gradients that do not fit, data of another kind, and
// tensors that are undefined.
#include "ebb/autograd/history/variable.h"

#include <gtest/gtest.h>

#include <string>

#include "ebb/autograd/history/views.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/tensor/tensor_name.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::grad_fn;

/// What backward() says of a rule that gives this for an input of shape [2].
std::string refusal_of(const Tensor& given) {
  const Tensor y = with_rule(leaf({1, 2}), [&](const Tensor&) { return given; });
  return error_of<ShapeError>([&] { backward(sum(y)); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Gradients, ThatDoNotBroadcastAreRefusedWithBothShapes) {
  EXPECT_TRUE(has(refusal_of(ones(Shape{3}, DType::float32)), "must have shape [2], got [3]"));
  EXPECT_TRUE(has(refusal_of(ones(Shape{}, DType::float32)), "must have shape [2], got []"));
}

TEST(Gradients, OfMoreDimsAreSummed) {
  const Tensor x = leaf({1, 2});
  const Tensor y = with_rule(x, [](const Tensor&) { return ones(Shape{3, 2}, DType::float32); });
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{3, 3}));
}

TEST(Gradients, GivenToANodeByHandAreRefusedWhetherItHasInputsOrNot) {
  const Tensor x = leaf({1, 2});
  const Tensor wrong = ones(Shape{3}, DType::float32);
  const auto refused = [&](autograd::Node& node) {
    return error_of<ShapeError>([&] { autograd::call_node(node, std::span(&wrong, 1)); });
  };
  const Tensor y = with_rule(x, [](const Tensor& grad) { return grad; });
  EXPECT_TRUE(has(refused(*grad_fn(y)), "must have shape [2], got [3]"));
  EXPECT_TRUE(has(refused(*autograd::gradient_edge(x).node), "must have shape [2], got [3]"));
}

TEST(Gradients, OfAnUndefinedTensorAreAskedForInVain) {
  EXPECT_EQ(error_of<ValueError>([] { grad_of(Tensor()); }),
            "grad: needs a defined tensor, got an undefined one");
}

TEST(Data, OfAnotherDtypeIsForLeavesWithoutAGradient) {
  const Tensor doubles = ones(Shape{2}, DType::float64);
  const Tensor x = leaf({1, 2});
  set_data(x, doubles);
  EXPECT_EQ(x.dtype(), DType::float64);
  backward(sum(x * x));
  EXPECT_EQ(grad_of(x).dtype(), DType::float64);
  EXPECT_THROW(set_data(x, ones(Shape{2}, DType::float32)), Error);
  EXPECT_THROW(set_data(leaf({1, 2}) * 2, doubles), Error);
  EXPECT_THROW(set_data(leaf({1, 2}), ones(Shape{2}, DType::int64)), Error);
}

TEST(Views, AreWhatACreationIsNotedOfAndNothingElse) {
  const Tensor x = leaf({1, 2});
  autograd::mark_creation(x, Creation::custom_function);
  mul_(x * 1, vector_of<float>({2, 2}));  // nothing refuses
  EXPECT_FALSE(autograd::is_view(x));
}

TEST(Undefined, TensorsAreNoViewsAndHaveNoBase) {
  EXPECT_FALSE(autograd::is_view(Tensor()));
  EXPECT_FALSE(autograd::base_of(Tensor()).defined());
  EXPECT_EQ(describe_tensor(Tensor()), "an undefined tensor");
}

}  // namespace
}  // namespace ebb
