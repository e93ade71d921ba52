// tests/optim/sgd_test.cpp -- SGD step by step, with powers of two that are exact in binary.
#include "ebb/optim/sgd.h"

#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::message_of;
using ebb::testing::parameter;
using ebb::testing::to_vector;
using ebb::testing::vector_of;
using Doubles = std::vector<double>;

TEST(SGD, SubtractsTheScaledGradient) {
  const Tensor p = parameter({1.0, 2.0}, {4.0, -8.0});
  SGD({p}, {.lr = 0.25}).step();
  EXPECT_EQ(to_vector<double>(p), (Doubles{0.0, 4.0}));
}

TEST(SGD, StartsMomentumWithTheGradientItself) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD optimizer({p}, {.lr = 1.0, .momentum = 0.5, .dampening = 0.5});
  optimizer.step();  // b = 1: dampening does not touch the first
  EXPECT_EQ(to_vector<double>(p), Doubles{-1.0});
  optimizer.step();  // b = 0.5 * 1 + 0.5 * 1 = 1
  EXPECT_EQ(to_vector<double>(p), Doubles{-2.0});
  EXPECT_EQ(to_vector<double>(optimizer.state(0, "momentum_buffer")), Doubles{1.0});
}

TEST(SGD, KeepsMomentum) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD optimizer({p}, {.lr = 1.0, .momentum = 0.5});
  optimizer.step();
  optimizer.step();  // b = 0.5 * 1 + 1 = 1.5
  EXPECT_EQ(to_vector<double>(p), Doubles{-2.5});
}

TEST(SGD, LooksAheadWithNesterov) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD optimizer({p}, {.lr = 1.0, .momentum = 0.5, .nesterov = true});
  optimizer.step();  // d + momentum * b = 1 + 0.5
  EXPECT_EQ(to_vector<double>(p), Doubles{-1.5});
}

TEST(SGD, AddsWeightDecayToTheGradient) {
  const Tensor p = parameter({8.0}, {1.0});
  SGD({p}, {.lr = 1.0, .weight_decay = 0.25}).step();  // 8 - (1 + 2)
  EXPECT_EQ(to_vector<double>(p), Doubles{5.0});
}

TEST(SGD, GoesUpToMaximize) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD({p}, {.lr = 2.0, .maximize = true}).step();
  EXPECT_EQ(to_vector<double>(p), Doubles{2.0});
}

TEST(SGD, TakesComplexParameters) {
  using Complex = std::complex<double>;
  const Tensor p = parameter<Complex>({{1, 2}}, {{2, -2}});
  SGD({p}, {.lr = 0.5}).step();
  EXPECT_EQ(p.data<Complex>()[0], (Complex{0, 3}));
}

TEST(SGD, TakesBackItsMomentum) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD optimizer({p}, {.lr = 1.0, .momentum = 0.5});
  const Tensor buffer = vector_of(Doubles{4.0});
  optimizer.set_state(0, 0, {{"momentum_buffer", buffer}});
  buffer.data<double>()[0] = 100.0;  // it kept a copy
  optimizer.step();                  // b = 0.5 * 4 + 1
  EXPECT_EQ(to_vector<double>(p), Doubles{-3.0});
}

TEST(SGD, RefusesOptionsOutOfRange) {
  const Tensor p = parameter({0.0}, {1.0});
  EXPECT_EQ(message_of<ValueError>([&] { SGD({p}, {.lr = -1}); }), "SGD: needs lr >= 0, got -1");
  EXPECT_EQ(message_of<ValueError>([&] { SGD({p}, {.momentum = -1}); }),
            "SGD: needs momentum >= 0, got -1");
  EXPECT_EQ(message_of<ValueError>([&] { SGD({p}, {.weight_decay = -2}); }),
            "SGD: needs weight_decay >= 0, got -2");
  EXPECT_EQ(message_of<ValueError>([&] { SGD({p}, {.nesterov = true}); }),
            "SGD: nesterov needs momentum > 0 and dampening 0, got 0 and 0");
}

}  // namespace
}  // namespace ebb::optim
