// tests/autograd/history/lifetime_test.cpp -- cycles through what was saved, memory that a run
// gives back as it goes, gradients added in place.
//
// Whole programs that leave nothing are in tests/python/autograd/test_lifetime_programs.py.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// Live bytes after `steps` calls, less those after one call.
template <typename Body>
int64_t growth(int steps, Body&& body) {
  body();
  const int64_t before = memory_stats().live;
  for (int step = 0; step < steps; ++step) body();
  return memory_stats().live - before;
}

TEST(Lifetime, FreesSavedTensorsAsTheRunGoesOn) {
  const Tensor x = requires_grad_(ones(Shape{1000}));
  const Tensor y = sum(exp(x));
  const int64_t before = memory_stats().live;
  backward(y);
  const int64_t gradient =
      4096;  // what x's gradient takes, in whole blocks, is below this + header
  EXPECT_LE(memory_stats().live, before - 4000 + gradient + 512);
}

TEST(Lifetime, ClosesNoCycleWhenWhatWasSavedIsWrittenFromItsOwnResult) {
  const Tensor a = leaf({1, 2, 3});
  EXPECT_EQ(growth(100,
                   [&] {
                     const Tensor x = a * 1;
                     add_(x, x * x);
                   }),
            0);
}

TEST(Lifetime, ClosesNoCycleWhenASaverComesIntoReachLater) {
  const Tensor a = leaf({1, 2, 3});
  EXPECT_EQ(growth(100,
                   [&] {
                     const Tensor x = a * 1;
                     const Tensor square = x * x;
                     add_(x, a);
                     mul_(x, a);
                     add_(x, square);
                   }),
            0);
}

TEST(Lifetime, ClosesNoCycleThroughAConstantThatGetsAHistory) {
  const Tensor a = leaf({1, 2, 3});
  EXPECT_EQ(growth(100,
                   [&] {
                     const Tensor x = ones(Shape{3});
                     add_(x, x * a);
                   }),
            0);
}

TEST(Lifetime, RefusesWhatWasSavedAndThenGotAnotherHistory) {
  const Tensor x = leaf({1, 2, 3}) * 1;
  const Tensor square = x * x;
  add_(x, square);
  EXPECT_THROW(backward(sum(square)), AutogradError);
}

TEST(Lifetime, AddsGradientsInTheMemoryOfTheFirst) {
  const Tensor x = leaf({1});
  Tensor total = x * 1.0;
  for (int step = 0; step < 1000; ++step) total = total + x;
  reset_peak_memory();
  const int64_t before = memory_stats().live;
  backward(total);
  // A buffer per edge would take 1,000 storages and tensors.
  EXPECT_LT(memory_stats().peak - before, 100 * 192);
}

}  // namespace
}  // namespace ebb
