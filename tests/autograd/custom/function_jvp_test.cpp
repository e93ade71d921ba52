// tests/autograd/custom/function_jvp_test.cpp -- custom functions of C++ in forward mode.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/custom/function.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/ops/mul.h"
#include "tests/autograd/custom/doubling_in_place.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// x^3 with a rule of its own, and a number among the arguments.
struct ScaledCube : Function<ScaledCube> {
  static Tensor forward(FunctionContext& ctx, double factor, const Tensor& x) {
    ctx.save_for_backward({x});
    ctx.save_for_forward({x});
    ctx.saved_data["factor"] = factor;
    return x * x * x * factor;
  }
  static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
    return {Tensor(), slope(ctx) * grads[0]};
  }
  static std::vector<Tensor> jvp(FunctionContext& ctx, std::vector<Tensor> tangents) {
    EXPECT_FALSE(tangents.at(0).defined());
    return {slope(ctx) * tangents.at(1)};
  }
  static Tensor slope(FunctionContext& ctx) {
    const Tensor x = ctx.saved_tensors()[0];
    return x * x * (3 * std::any_cast<double>(ctx.saved_data.at("factor")));
  }
};

struct WithoutJvp : Function<WithoutJvp> {
  static Tensor forward(FunctionContext&, const Tensor& x) { return x * 2; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) {
    return {grads[0] * 2};
  }
};

/// Doubles its input in place; the tangent, too.
struct DoubleInPlace : testing::DoublingInPlace<DoubleInPlace> {
  static std::vector<Tensor> jvp(FunctionContext&, std::vector<Tensor> tangents) {
    mul_(tangents[0], 2);
    return tangents;
  }
};

struct TwoTangents : Function<TwoTangents> {
  static Tensor forward(FunctionContext&, const Tensor& x) { return x * 2; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) { return grads; }
  static std::vector<Tensor> jvp(FunctionContext&, std::vector<Tensor> tangents) {
    return {tangents[0], tangents[0]};
  }
};

Floats tangent(const Tensor& tensor) { return floats(unpack_dual(tensor).tangent); }

TEST(FunctionJvp, GivesTheTangentAndItsGradient) {
  const Tensor x = leaf({2});
  const ForwardLevelGuard level;
  const Tensor y = ScaledCube::apply(5.0, make_dual(x, vector_of<float>({10})));
  EXPECT_EQ(floats(y), Floats{40});
  EXPECT_EQ(tangent(y), Floats{600});
  EXPECT_EQ(floats(grad({{unpack_dual(y).tangent}}, {{x}})[0]), Floats{600});  // 10 * 5 * 6 x
}

TEST(FunctionJvp, LetsTheGradientCarryATangent) {
  const Tensor x = leaf({2});
  const ForwardLevelGuard level;
  const Tensor dual = make_dual(x, vector_of<float>({10}));
  const Tensor y = ScaledCube::apply(5.0, dual);
  EXPECT_EQ(tangent(grad({{y}}, {{x}})[0]), Floats{600});
}

TEST(FunctionJvp, IsCalledOncePerLevel) {
  const ForwardLevelGuard outer;
  const Tensor x = make_dual(vector_of<float>({2}), vector_of<float>({1}));
  const ForwardLevelGuard inner;
  const Tensor y = ScaledCube::apply(1.0, make_dual(x, vector_of<float>({1})));
  EXPECT_EQ(tangent(y), Floats{12});
  EXPECT_EQ(floats(unpack_dual(unpack_dual(y).tangent, outer.id()).tangent), Floats{12});  // 6 x
}

TEST(FunctionJvp, MayWriteItsInput) {
  const Tensor given = vector_of<float>({10});
  const ForwardLevelGuard level;
  const Tensor x = make_dual(vector_of<float>({3}), given) * 1;
  const Tensor y = DoubleInPlace::apply(x);
  EXPECT_TRUE(y.is_same(x));
  EXPECT_EQ(floats(x), Floats{6});
  EXPECT_EQ(tangent(x), Floats{20});
  EXPECT_EQ(floats(given), Floats{10});
}

TEST(FunctionJvp, IsNeededInForwardModeOnly) {
  const ForwardLevelGuard level;
  EXPECT_EQ(floats(WithoutJvp::apply(vector_of<float>({3}))), Floats{6});
  const Tensor dual = make_dual(vector_of<float>({3}), vector_of<float>({1}));
  const std::string text = error_of<NotImplementedError>([&] { WithoutJvp::apply(dual); });
  EXPECT_NE(text.find("WithoutJvp: needs a static function jvp() in forward mode"), text.npos);
}

TEST(FunctionJvp, MustReturnOneTangentPerOutput) {
  const ForwardLevelGuard level;
  const Tensor dual = make_dual(vector_of<float>({3}), vector_of<float>({1}));
  const std::string text = error_of<ValueError>([&] { TwoTangents::apply(dual); });
  EXPECT_NE(text.find("TwoTangents.jvp: must return one tangent per output, 1, got 2"), text.npos);
}

}  // namespace
}  // namespace ebb
