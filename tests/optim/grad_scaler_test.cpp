// tests/optim/grad_scaler_test.cpp -- loss scaling from C++.
#include "ebb/optim/grad_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/clip_grad.h"
#include "ebb/optim/sgd.h"
#include "tests/optim/parameter.h"

namespace ebb::amp {
namespace {

using ebb::testing::parameter;
using ebb::testing::to_vector;
using optim::SGD;
using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(GradScaler, AStepIsThatOfTheUnscaledGradient) {
  const Tensor weight = requires_grad_(ebb::testing::vector_of<float>({1, 1}));
  SGD optimizer({weight}, {.lr = 0.5});
  GradScaler scaler;
  backward(scaler.scale(sum(mul(weight, 2.0))));
  EXPECT_EQ(to_vector<float>(grad_of(weight)), (Floats{131072, 131072}));
  EXPECT_TRUE(scaler.step(optimizer));
  scaler.update();
  EXPECT_EQ(to_vector<float>(weight), (Floats{0, 0}));
}

TEST(GradScaler, AStepWithOneBadGradientIsSkippedAndTheScaleShrinks) {
  const Tensor good = parameter<float>({1, 1}, {1, 1}), bad = parameter<float>({1}, {kInfinity});
  SGD optimizer({good, bad}, {.lr = 1.0});
  GradScaler scaler({.init_scale = 8.0});
  EXPECT_FALSE(scaler.step(optimizer));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 4.0);
  EXPECT_EQ(to_vector<float>(good), (Floats{1, 1}));
}

TEST(GradScaler, EachOptimizerIsJudgedByItsOwnGradients) {
  const Tensor good = parameter<float>({1}, {2}), bad = parameter<float>({1}, {std::nanf("")});
  SGD first({good}, {.lr = 1.0}), second({bad}, {.lr = 1.0});
  GradScaler scaler({.init_scale = 2.0});
  EXPECT_TRUE(scaler.step(first));
  EXPECT_FALSE(scaler.step(second));
  scaler.update();
  EXPECT_EQ(to_vector<float>(good), (Floats{0}));
  EXPECT_EQ(scaler.get_scale(), 1.0);
}

TEST(GradScaler, TheScaleGrowsAfterAnIntervalAndStaysInRange) {
  LossScale state{.scale = 1.0};
  for (const double expected : {1.0, 1.0, 2.0, 2.0}) {
    state.update(true, 2.0, 0.5, 3);
    EXPECT_EQ(state.scale, expected);
  }
  state.update(false, 2.0, 0.5, 3);
  EXPECT_EQ(state.scale, 1.0);
  EXPECT_EQ(state.growth_tracker, 0);
  for (int step = 0; step < 300; ++step) state.update(false, 2.0, 0.5, 1);
  EXPECT_EQ(state.scale, std::ldexp(1.0, -126));
  for (int step = 0; step < 300; ++step) state.update(true, 2.0, 0.5, 1);
  EXPECT_EQ(state.scale, std::ldexp(1.0, 126));
}

TEST(GradScaler, UnscaledGradientsCanBeClipped) {
  const Tensor weight = parameter<float>({0, 0}, {30, 40});
  SGD optimizer({weight}, {.lr = 1.0});
  GradScaler scaler({.init_scale = 10.0});
  scaler.unscale_(optimizer);
  EXPECT_EQ(nn::utils::clip_grad_norm_({weight}, 1.0).item<double>(), 5.0);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_NEAR(to_vector<float>(weight)[1], -0.8, 1e-6);
}

TEST(GradScaler, CallsInAWrongOrderAreRefused) {
  const Tensor weight = parameter<float>({1}, {1});
  SGD optimizer({weight}, {});
  GradScaler scaler;
  EXPECT_EQ(error_of<AutogradError>([&] { scaler.update(); }),
            "update: needs a step() or unscale_() before it, got none");
  scaler.unscale_(optimizer);
  EXPECT_EQ(error_of<AutogradError>([&] { scaler.unscale_(optimizer); }),
            "unscale_: needs one call between two of update(), got a second");
  scaler.step(optimizer);
  EXPECT_EQ(error_of<AutogradError>([&] { scaler.unscale_(optimizer); }),
            "unscale_: needs to be called before step(), got it after");
  EXPECT_EQ(error_of<AutogradError>([&] { scaler.step(optimizer); }),
            "step: needs one call between two of update(), got a second");
  scaler.update();
  optimizer.zero_grad();
  EXPECT_EQ(error_of<AutogradError>([&] { scaler.step(optimizer); }),
            "step: needs gradients to look at, got none on this optimizer's parameters\n"
            "hint: call backward(scaler.scale(loss)) first");
}

TEST(GradScaler, RefusesNumbersOutOfRange) {
  EXPECT_EQ(error_of<ValueError>([] { GradScaler({.init_scale = 0}); }),
            "GradScaler: 'init_scale' needs 0 < x < inf, got 0");
  EXPECT_EQ(error_of<ValueError>([] { GradScaler({.growth_factor = 1}); }),
            "GradScaler: 'growth_factor' needs > 1, got 1");
  EXPECT_EQ(error_of<ValueError>([] { GradScaler({.backoff_factor = 1}); }),
            "GradScaler: 'backoff_factor' needs 0 < x < 1, got 1");
  EXPECT_EQ(error_of<ValueError>([] { GradScaler({.growth_interval = 0}); }),
            "GradScaler: 'growth_interval' needs a whole number >= 1, got 0");
  GradScaler scaler;
  EXPECT_EQ(error_of<ValueError>([&] { scaler.update(kInfinity); }),
            "update: 'new_scale' needs 0 < x < inf, got inf");
  EXPECT_EQ(error_of<ValueError>([&] { scaler.load_state({.scale = -1}); }),
            "load_state: needs 0 < scale < inf and a count, got -1 and 0");
  EXPECT_EQ(scaler.get_scale(), 65536.0);
}

TEST(GradScaler, OffItPassesEverythingThrough) {
  const Tensor weight = parameter<float>({1}, {kInfinity});
  SGD optimizer({weight}, {.lr = 1.0});
  GradScaler scaler({.enabled = false});
  EXPECT_TRUE(scaler.scale(weight).is_same(weight));
  EXPECT_TRUE(scaler.step(optimizer));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 1.0);
  EXPECT_EQ(to_vector<float>(weight), (Floats{-kInfinity}));
}

}  // namespace
}  // namespace ebb::amp
