// tests/core/runtime/float_mode_test.cpp -- pieces are computed in the mode of the caller, whoever
// computes them.
#include "ebb/core/runtime/float_mode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <limits>
#include <thread>

#include "ebb/core/runtime/parallel.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

class FloatModes : public ::testing::Test {
 protected:
  void SetUp() override { set_num_threads(3); }
  void TearDown() override {
    mode_.install();
    std::fesetround(FE_TONEAREST);
    set_num_threads(threads_);
  }

 private:
  int threads_ = num_threads();
  FloatMode mode_ = FloatMode::current();
};

/// What `compute` gives in pieces, of which one at least is a worker's: their sum.
template <typename Compute>
double sum_of_pieces(Compute&& compute) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> has_helped = false;
  double sums[3] = {};
  parallel_for(3, 1, [&](int64_t piece, int64_t) {
    if (std::this_thread::get_id() != caller) has_helped = true;
    while (!has_helped) std::this_thread::yield();
    sums[piece] = compute();
  });
  return sums[0] + sums[1] + sums[2];
}

double half_of_smallest() {
  volatile double smallest = std::numeric_limits<double>::min();
  return smallest / 2;
}

double third() {
  volatile double one = 1.0;
  return one / 3.0;
}

/// 1 if a third, which is rounded up, was rounded down.
double third_of_a_long_double() {
  volatile long double one = 1.0L;
  return one / 3.0L < 1.0L / 3.0L ? 1.0 : 0.0;
}

TEST_F(FloatModes, AWorkerFlushesAsItsCallerDoes) {
  EXPECT_GT(sum_of_pieces(half_of_smallest), 0.0);
  ASSERT_TRUE(set_flush_denormal(true));
  EXPECT_EQ(sum_of_pieces(half_of_smallest), 0.0);
  ASSERT_TRUE(set_flush_denormal(false));
  EXPECT_GT(sum_of_pieces(half_of_smallest), 0.0);
}

TEST_F(FloatModes, AWorkerRoundsAsItsCallerDoes) {
  const double nearest = sum_of_pieces(third);
  std::fesetround(FE_UPWARD);
  const double upward = sum_of_pieces(third), here = third();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(nearest, 3 * third());
  EXPECT_GT(here, third());
  EXPECT_GT(upward, nearest);
}

TEST_F(FloatModes, AWorkerRoundsLongDoublesAsItsCallerDoes) {
  EXPECT_EQ(sum_of_pieces(third_of_a_long_double), 0.0);
  std::fesetround(FE_DOWNWARD);
  EXPECT_EQ(sum_of_pieces(third_of_a_long_double), 3.0);
}

TEST_F(FloatModes, ThePoolForgetsTheModeOfTheLastCaller) {
  set_flush_denormal(true);
  sum_of_pieces(half_of_smallest);
  std::thread([] {
    EXPECT_GT((set_flush_denormal(false), sum_of_pieces(half_of_smallest)), 0.0);
  }).join();
}

}  // namespace
}  // namespace ebb
