// tests/autograd/custom/function_test.cpp -- custom functions in C++: what they record, check and
// refuse.
#include "ebb/autograd/custom/function.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/custom/doubling_in_place.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

struct Cube : Function<Cube> {
  static Tensor forward(FunctionContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x * x;
  }
  static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
    const Tensor x = ctx.saved_tensors()[0];
    return {grads[0] * x * x * 3};
  }
};

/// Saves a value that is neither input nor output.
struct CubeBySquare : Function<CubeBySquare> {
  static Tensor forward(FunctionContext& ctx, const Tensor& x) {
    const Tensor square = x * x;
    ctx.save_for_backward({square});
    return square * x;
  }
  static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
    return {grads[0] * ctx.saved_tensors()[0] * 3};
  }
};

struct OnceCube : Function<OnceCube> {
  static constexpr bool kOnceDifferentiable = true;
  static Tensor forward(FunctionContext& ctx, const Tensor& x) { return Cube::forward(ctx, x); }
  static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
    return Cube::backward(ctx, std::move(grads));
  }
};

struct Identity : Function<Identity> {
  static Tensor forward(FunctionContext&, const Tensor& x) { return x; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) { return grads; }
};

/// Two outputs, a number among the arguments, and a second tensor that is not always wanted.
struct ScaleBoth : Function<ScaleBoth> {
  static inline std::vector<bool> needed;
  static std::vector<Tensor> forward(FunctionContext& ctx, const Tensor& x, double factor,
                                     const Tensor& y) {
    ctx.saved_data["factor"] = factor;
    return {x * factor, y * factor};
  }
  static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
    const auto factor = std::any_cast<double>(ctx.saved_data.at("factor"));
    needed = {ctx.needs_input_grad(0), ctx.needs_input_grad(1), ctx.needs_input_grad(2)};
    return {grads[0] * factor, Tensor(), grads[1] * factor};
  }
};

struct DoubleInPlace : testing::DoublingInPlace<DoubleInPlace> {};

struct TooFew : Function<TooFew> {
  static Tensor forward(FunctionContext&, const Tensor& x, const Tensor& y) { return x * y; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) { return grads; }
};

struct Undefined : Function<Undefined> {
  static inline bool was_defined = true;
  static std::vector<Tensor> forward(FunctionContext& ctx, const Tensor& x) {
    ctx.set_materialize_grads(false);
    return {x * 1, x * 2};
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) {
    was_defined = grads[1].defined();
    return {grads[0]};
  }
};

TEST(Function, RunsTheUsersDerivativeAndRecordsItForTheNext) {
  const Tensor x = leaf({2});
  const Tensor y = Cube::apply(x);
  EXPECT_STREQ(autograd::grad_fn(y)->name(), "CubeBackward");
  const Tensor first = grad(std::vector{y}, std::vector{x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), Floats{12});
  EXPECT_EQ(floats(grad(std::vector{first}, std::vector{x})[0]), Floats{12});
}

TEST(Function, RefusesADerivativeThroughAnIntermediate) {
  const Tensor x = leaf({2});
  const Tensor y = CubeBySquare::apply(x);
  const Tensor first = grad(std::vector{y}, std::vector{x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), Floats{12});
  EXPECT_THROW(grad(std::vector{first}, std::vector{x}), AutogradError);
}

TEST(Function, RefusesASecondDerivativeOfAOnceDifferentiableOne) {
  const Tensor x = leaf({2});
  const Tensor y = OnceCube::apply(x) + x * x;
  const Tensor first = grad(std::vector{y}, std::vector{x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), Floats{16});
  EXPECT_THROW(grad(std::vector{first}, std::vector{x}), AutogradError);
}

TEST(Function, GivesAViewForAnInputReturnedAsItIs) {
  const Tensor x = leaf({1, 2});
  const Tensor y = Identity::apply(x);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{1, 1}));
}

TEST(Function, AsksOnlyForTheGradientsThatTheRunWants) {
  const Tensor x = leaf({2}), y = leaf({3});
  const std::vector<Tensor> out = ScaleBoth::apply(x, 3.0, y);
  EXPECT_EQ(floats(grad(std::vector{out[0]}, std::vector{x})[0]), Floats{3});
  EXPECT_EQ(ScaleBoth::needed, (std::vector<bool>{true, false, false}));
}

TEST(Function, GivesAnInputMarkedDirtyItsNewHistory) {
  const Tensor leaf_x = leaf({3});
  const Tensor x = leaf_x * 1;
  const Tensor y = DoubleInPlace::apply(x);
  EXPECT_TRUE(y.is_same(x));
  backward(x);
  EXPECT_EQ(floats(grad_of(leaf_x)), Floats{2});
}

TEST(Function, RefusesALeafMarkedDirty) {
  EXPECT_THROW(DoubleInPlace::apply(leaf({3})), AutogradError);
}

TEST(Function, RefusesAWrongNumberOfGradients) {
  EXPECT_THROW(backward(TooFew::apply(leaf({1}), leaf({2}))), ValueError);
}

TEST(Function, LeavesMissingGradientsUndefinedIfAsked) {
  backward(Undefined::apply(leaf({1}))[0]);
  EXPECT_FALSE(Undefined::was_defined);
}

TEST(Function, RecordsNothingUnderNoGrad) {
  const NoGradGuard guard;
  EXPECT_FALSE(Cube::apply(leaf({2})).requires_grad());
  EXPECT_FALSE(Identity::apply(leaf({2})).requires_grad());
}

TEST(Function, NoticesAWriteToWhatItSaved) {
  const Tensor x = leaf({2}) * 1;
  const Tensor y = Cube::apply(x);
  const NoGradGuard guard;
  mul_(x, 2);
  EXPECT_THROW(backward(y), AutogradError);
}

TEST(Function, FreesWhatItSavedAndSaysSoTheSecondTime) {
  const Tensor y = Cube::apply(leaf({2}));
  backward(y);
  EXPECT_THROW(backward(y), AutogradError);
}

TEST(Function, LeavesNothingBehind) {
  const Tensor x = leaf({2});
  const auto step = [&] {
    backward(Cube::apply(Identity::apply(x)), {}, {.create_graph = true});
    set_grad(x, {});
  };
  step();
  const int64_t before = memory_stats().live;
  for (int count = 0; count < 100; ++count) step();
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Function, RunsAndDestroysADeepChainOnASmallStack) {
  run_on_small_stack(512 * 1024, [] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int step = 0; step < 100'000; ++step) y = Identity::apply(y);
    backward(y);
    EXPECT_EQ(floats(grad_of(x)), Floats{1});
  });
}

}  // namespace
}  // namespace ebb
