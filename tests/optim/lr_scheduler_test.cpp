// tests/optim/lr_scheduler_test.cpp -- schedules at epochs that can be checked by hand.
#include "ebb/optim/lr_scheduler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/core/base/error.h"
#include "ebb/optim/adagrad.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::parameter;

struct WithSgd {
  SGD optimizer{{parameter({0.0}, {1.0})}, {.lr = 1.0, .momentum = 0.9}};
};

std::vector<double> rates_of(LRScheduler& schedule, const SGD& optimizer, int epochs) {
  std::vector<double> rates;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_EQ(optimizer.options().lr, schedule.last_lr());
    rates.push_back(schedule.last_lr());
    schedule.step();
  }
  return rates;
}

TEST(LRScheduler, StepsDownEverySoManyEpochs) {
  WithSgd with;
  StepLR schedule(with.optimizer, 2, 0.5);
  EXPECT_EQ(rates_of(schedule, with.optimizer, 5), (std::vector<double>{1, 1, 0.5, 0.5, 0.25}));
}

TEST(LRScheduler, FallsAlongACosine) {
  WithSgd with;
  CosineAnnealingLR schedule(with.optimizer, 4, 0.2);
  const std::vector<double> rates = rates_of(schedule, with.optimizer, 6);
  EXPECT_NEAR(rates[2], 0.6, 1e-15);
  EXPECT_NEAR(rates[4], 0.2, 1e-15);
  EXPECT_NEAR(rates[5], rates[3], 1e-15);
}

TEST(LRScheduler, FollowsAFunction) {
  WithSgd with;
  LambdaLR schedule(with.optimizer,
                    [](int64_t epoch) { return 1.0 / static_cast<double>(epoch + 1); });
  EXPECT_EQ(rates_of(schedule, with.optimizer, 4), (std::vector<double>{1, 0.5, 1.0 / 3, 0.25}));
}

TEST(LRScheduler, ResumesAtAnyEpoch) {
  WithSgd with;
  StepLR schedule(with.optimizer, 2, 0.5);
  schedule.set_epoch(7);
  EXPECT_EQ(with.optimizer.options().lr, 0.125);
  EXPECT_EQ(schedule.last_epoch(), 7);
}

// The numbers are PyTorch's (tests/python/optim/reference_optim.json, "one_cycle").
TEST(OneCycleLR, FollowsPyTorch) {
  WithSgd with;
  OneCycleLR schedule(with.optimizer, {.max_lr = 0.5, .total_steps = 20});
  std::vector<double> rates, momenta;
  for (int step = 0; step < 20; ++step) {
    rates.push_back(with.optimizer.options().lr);
    momenta.push_back(with.optimizer.options().momentum);
    schedule.step();
  }
  const std::vector<std::pair<size_t, double>> expected = {{0, 0.020000000000000018},
                                                           {4, 0.45416407864998737},
                                                           {5, 0.5},
                                                           {8, 0.445458088785525},
                                                           {12, 0.250001},
                                                           {16, 0.05454391121447502},
                                                           {19, 2e-06}};
  for (const auto& [step, rate] : expected) EXPECT_NEAR(rates[step], rate, 1e-14) << step;
  EXPECT_NEAR(momenta[0], 0.95, 1e-15);
  EXPECT_NEAR(momenta[5], 0.85, 1e-15);
  EXPECT_NEAR(momenta[19], 0.95, 1e-15);
}

TEST(OneCycleLR, LeadsTheFirstBetaOfAdam) {
  AdamW optimizer({parameter({0.0}, {1.0})});
  OneCycleLR schedule(optimizer, {.max_lr = 1.0,
                                  .total_steps = 11,
                                  .pct_start = 0.5,
                                  .anneal = Anneal::linear,
                                  .base_momentum = 0.5,
                                  .max_momentum = 0.9,
                                  .div_factor = 10,
                                  .final_div_factor = 10,
                                  .three_phase = true});
  EXPECT_NEAR(optimizer.options().beta1, 0.9, 1e-15);
  EXPECT_NEAR(optimizer.options().lr, 0.1, 1e-15);
  schedule.set_epoch(10);  // top is at 4.5, back at 9, the end at 10
  EXPECT_NEAR(optimizer.options().beta1, 0.9, 1e-15);
  EXPECT_NEAR(optimizer.options().lr, 0.01, 1e-15);
  schedule.set_epoch(9);
  EXPECT_NEAR(optimizer.options().lr, 0.1, 1e-15);
}

TEST(LRScheduler, RefusesBadArguments) {
  WithSgd with;
  EXPECT_EQ(error_of<ValueError>([&] { StepLR(with.optimizer, 0); }),
            "StepLR: needs step_size >= 1, got 0");
  EXPECT_EQ(error_of<ValueError>([&] { CosineAnnealingLR(with.optimizer, 0); }),
            "CosineAnnealingLR: needs t_max >= 1, got 0");
  EXPECT_EQ(error_of<ValueError>([&] { LambdaLR(with.optimizer, nullptr); }),
            "LambdaLR: needs a function, got nothing");
  EXPECT_EQ(error_of<ValueError>([&] { OneCycleLR(with.optimizer, {.total_steps = 0}); }),
            "OneCycleLR: needs total_steps >= 1, got 0");
  EXPECT_EQ(
      error_of<ValueError>([&] { OneCycleLR(with.optimizer, {.total_steps = 9, .pct_start = 2}); }),
      "OneCycleLR: needs 0 <= pct_start <= 1, got 2");
  OneCycleLR schedule(with.optimizer, {.total_steps = 3});
  EXPECT_EQ(error_of<ValueError>([&] { schedule.set_epoch(4); }),
            "OneCycleLR: needs at most 3 steps, got step 4");
  EXPECT_EQ(error_of<ValueError>([&] { schedule.set_epoch(-1); }),
            "set_epoch: needs epoch >= 0, got -1");
  Adagrad other({parameter({0.0}, {1.0})});
  EXPECT_EQ(error_of<ValueError>([&] { OneCycleLR(other, {.total_steps = 3}); }),
            "OneCycleLR: needs an optimizer with momentum or betas to cycle the momentum, got "
            "Adagrad");
}

}  // namespace
}  // namespace ebb::optim
