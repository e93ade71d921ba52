// tests/autograd/forward/forward_mode_test.cpp -- levels and dual tensors in C++, and DualCall by
// hand.
#include "ebb/autograd/forward/forward_mode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>

#include "ebb/autograd/forward/dual_call.h"
#include "ebb/autograd/forward/functional.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

Tensor values(std::initializer_list<float> numbers) { return vector_of<float>(numbers); }
Tensor tangent(const Tensor& tensor) { return unpack_dual(tensor).tangent; }

TEST(ForwardMode, GivesResultsTheirTangents) {
  const ForwardLevelGuard level;
  const Tensor x = make_dual(values({2, 3}), values({1, 10}));
  EXPECT_EQ(floats(tangent(x * x + 1)), (Floats{4, 60}));
  EXPECT_EQ(floats(unpack_dual(x * x).primal), (Floats{4, 9}));
  EXPECT_FALSE(tangent(values({1}) * 2).defined());
}

TEST(ForwardMode, SaysWhatIsWrongWithALevel) {
  EXPECT_THROW(make_dual(values({1}), values({1})), AutogradError);
  EXPECT_THROW(exit_forward_level(), AutogradError);
  const ForwardLevelGuard level;
  EXPECT_EQ(current_forward_level(), level.id());
  EXPECT_THROW(exit_forward_level(level.id() + 1), AutogradError);
  EXPECT_THROW(make_dual(values({1, 2}), values({1})), ShapeError);
  EXPECT_THROW(make_dual(Tensor(), values({1})), ValueError);
}

TEST(ForwardMode, LevelsAreCarriedWithTheModesOfAThread) {
  const ForwardLevelGuard level;
  const auto modes = autograd::ThreadModes::current();
  uint64_t plain = 1, carried = 0;
  std::thread([&] {
    plain = current_forward_level();
    const autograd::ThreadModesScope scope(modes);
    carried = current_forward_level();
  }).join();
  EXPECT_EQ(plain, 0u);
  EXPECT_EQ(carried, level.id());
}

TEST(ForwardMode, AnOpRecordedByHandTakesPartThroughDualCall) {
  const ForwardLevelGuard level;
  const Tensor x = make_dual(values({3}), values({1}));
  const Tensor out = detach(x) * 2;  // stands for a kernel of the user's own
  autograd::DualCall call({&x}, out, autograd::DualResult::fresh);
  while (call.next()) call.set(out, call.tangent(x) * 2);
  EXPECT_EQ(floats(tangent(out * x)), Floats{12});
}

TEST(ForwardMode, AnOpRecordedByHandWithoutARuleRefusesDuals) {
  const Tensor plain = values({3});
  EXPECT_NO_THROW(autograd::check_no_tangents("twice", {&plain}));
  const ForwardLevelGuard level;
  const Tensor x = make_dual(plain, values({1}));
  try {
    autograd::check_no_tangents("twice", {&plain, &x});
    FAIL() << "should have thrown";
  } catch (const NotImplementedError& error) {
    EXPECT_NE(std::string(error.what()).find("twice: has no forward-mode rule"), std::string::npos);
  }
}

std::vector<Tensor> product_and_sum(std::span<const Tensor> in) {
  return {in[0] * in[1], sum(in[0])};
}

TEST(Functional, ProductsWithTheJacobian) {
  const Tensor inputs[] = {values({1, 2}), values({3, 4})};
  const Tensor steps[] = {values({1, 0}), values({0, 1})};
  const JacobianProduct forward = jvp(product_and_sum, inputs, steps);
  EXPECT_EQ(floats(forward.product[0]), (Floats{3, 2}));
  EXPECT_EQ(floats(forward.product[1]), Floats{1});
  EXPECT_EQ(floats(forward.outputs[0]), (Floats{3, 8}));
  const Tensor weights[] = {values({1, 1}), tensor_of<float>({10}, {})};
  const JacobianProduct backward = vjp(product_and_sum, inputs, weights);
  EXPECT_EQ(floats(backward.product[0]), (Floats{13, 14}));
  EXPECT_EQ(floats(backward.product[1]), (Floats{1, 2}));
  EXPECT_THROW(jvp(product_and_sum, inputs, std::span(steps, 1)), ValueError);
  EXPECT_THROW(vjp(product_and_sum, inputs, std::span(weights, 1)), ValueError);
}

TEST(Functional, TheJacobianByOutputAndInput) {
  const Tensor inputs[] = {values({1, 2}), values({3, 4})};
  const auto matrix = jacobian(product_and_sum, inputs);
  EXPECT_EQ(floats(matrix[0][0]), (Floats{3, 0, 0, 4}));
  EXPECT_EQ(floats(matrix[1][0]), (Floats{1, 1}));
  EXPECT_EQ(floats(matrix[1][1]), (Floats{0, 0}));
  EXPECT_TRUE(equal(matrix[0][1].sizes(), Shape{2, 2}));
}

}  // namespace
}  // namespace ebb
