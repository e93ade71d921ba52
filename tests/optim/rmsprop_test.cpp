// tests/optim/rmsprop_test.cpp -- RMSprop and Adagrad against their definitions, spelled out below.
#include "ebb/optim/rmsprop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/core/base/error.h"
#include "ebb/optim/adagrad.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::message_of;
using ebb::testing::parameter;
using ebb::testing::to_vector;

TEST(RMSprop, FollowsItsDefinition) {
  for (const bool centered : {false, true}) {
    const Tensor p = parameter({0.75}, {0.0});
    RMSprop optimizer(
        {p},
        {.lr = 0.1, .alpha = 0.5, .weight_decay = 0.25, .momentum = 0.5, .centered = centered});
    double value = 0.75, square = 0, mean = 0, buffer = 0;
    for (const double grad : {0.5, -2.0, 0.25, 1.0}) {
      grad_of(p).data<double>()[0] = grad;
      optimizer.step();
      const double g = grad + 0.25 * value;
      square = 0.5 * square + 0.5 * g * g;
      mean = 0.5 * mean + 0.5 * g;
      const double variance = centered ? square - mean * mean : square;
      buffer = 0.5 * buffer + g / (std::sqrt(variance) + 1e-8);
      value -= 0.1 * buffer;
      EXPECT_NEAR(p.data<double>()[0], value, 1e-13) << centered;
    }
  }
}

TEST(RMSprop, BearsAConstantGradientWhenCentered) {
  const Tensor p = parameter<float>({0.0f}, {0.1f});
  RMSprop optimizer({p}, {.lr = 1e-3, .alpha = 0.5, .centered = true});
  for (int step = 0; step < 200; ++step) optimizer.step();  // the variance rounds to 0 or below
  EXPECT_TRUE(std::isfinite(p.data<float>()[0]));
}

TEST(RMSprop, KeepsOnlyWhatItsOptionsNeed) {
  RMSprop optimizer({parameter({0.0}, {1.0})});
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().size(), 2u);  // step and square_avg
  optimizer.set_options({.momentum = 0.5, .centered = true});
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().size(), 4u);
}

TEST(RMSprop, RefusesOptionsOutOfRange) {
  const Tensor p = parameter({0.0}, {1.0});
  EXPECT_EQ(message_of<ValueError>([&] { RMSprop({p}, {.alpha = -1}); }),
            "RMSprop: needs alpha >= 0, got -1");
  EXPECT_EQ(message_of<ValueError>([&] { RMSprop({p}, {.momentum = -1}); }),
            "RMSprop: needs momentum >= 0, got -1");
}

TEST(Adagrad, FollowsItsDefinition) {
  const Tensor p = parameter({0.75}, {0.0});
  Adagrad optimizer({p}, {.lr = 0.5,
                          .lr_decay = 0.1,
                          .weight_decay = 0.25,
                          .initial_accumulator_value = 2.0,
                          .maximize = true});
  double value = 0.75, sum = 2.0;
  int before = 0;
  for (const double grad : {0.5, -2.0, 0.25, 1.0}) {
    grad_of(p).data<double>()[0] = grad;
    optimizer.step();
    const double g = -grad + 0.25 * value;
    sum += g * g;
    value -= 0.5 / (1 + 0.1 * before++) * g / (std::sqrt(sum) + 1e-10);
    EXPECT_NEAR(p.data<double>()[0], value, 1e-14);
  }
}

TEST(Adagrad, RefusesOptionsOutOfRange) {
  const Tensor p = parameter({0.0}, {1.0});
  EXPECT_EQ(message_of<ValueError>([&] { Adagrad({p}, {.lr_decay = -1}); }),
            "Adagrad: needs lr_decay >= 0, got -1");
  EXPECT_EQ(message_of<ValueError>([&] { Adagrad({p}, {.initial_accumulator_value = -1}); }),
            "Adagrad: needs initial_accumulator_value >= 0, got -1");
}

}  // namespace
}  // namespace ebb::optim
