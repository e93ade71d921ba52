// tests/autograd/watch/checks_test.cpp -- NaN checks and anomaly mode in C++.
#include "ebb/autograd/watch/checks.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "ebb/autograd/history/thread_modes.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/error.h"
#include "ebb/kernels/cpu/pointwise/finite.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// What the error of `call` says; empty if there is none.
template <typename Call>
std::string fault_of(Call&& call) {
  try {
    call();
  } catch (const NonFiniteError& error) {
    return error.what();
  }
  return {};
}

TEST(Checks, NameTheOpThatGivesNan) {
  const CheckNanInfGuard guard;
  const std::string text = fault_of([] { log(leaf({1, -1})); });
  EXPECT_NE(text.find("log: the result (float32 [2]) must be finite, got 1 nan"), text.npos);
  EXPECT_NE(text.find("checks_test.cpp"), text.npos);
}

TEST(Checks, RecordStacksGuardChecksNothing) {
  const Tensor x = leaf({0, 4});
  const RecordStacksGuard guard;
  EXPECT_TRUE(is_anomaly_enabled());
  EXPECT_EQ(fault_of([&] { backward(sum(sqrt(x))); }), "");
  const RecordStacksGuard off(false);
  EXPECT_FALSE(is_anomaly_enabled());
}

TEST(Checks, AreCarriedToOtherThreads) {
  autograd::ThreadModes modes;
  {
    const CheckNanInfGuard guard;
    modes = autograd::ThreadModes::current();
  }
  const autograd::ThreadModesScope scope(modes);
  EXPECT_NE(fault_of([] { log(leaf({-1})); }), "");
}

TEST(Checks, AFailedRunLeavesTheGraphUsable) {
  const Tensor x = leaf({0});
  const Tensor y = sqrt(x);
  const Tensor z = sum(y);
  {
    const DetectAnomalyGuard guard;
    EXPECT_NE(fault_of([&] { backward(z, {}, {.retain_graph = true}); }), "");
  }
  EXPECT_FALSE(grad_of(x).defined());
  backward(z);
  EXPECT_EQ(floats(grad_of(x)), Floats{std::numeric_limits<float>::infinity()});
}

TEST(Checks, ScanFindsAnyBadBitPatternAtAnyPlace) {
  for (const size_t count : {1u, 7u, 33u, 130u}) {
    for (size_t bad = 0; bad < count; ++bad) {
      std::vector<double> numbers(count, -std::numeric_limits<double>::max());
      EXPECT_FALSE(kernels::cpu::has_non_finite(DType::float64, numbers.data(),
                                                static_cast<int64_t>(count), false));
      numbers[bad] = -std::numeric_limits<double>::infinity();
      EXPECT_TRUE(kernels::cpu::has_non_finite(DType::float64, numbers.data(),
                                               static_cast<int64_t>(count), false));
      EXPECT_FALSE(kernels::cpu::has_non_finite(DType::float64, numbers.data(),
                                                static_cast<int64_t>(count), true));
      numbers[bad] = -std::numeric_limits<double>::signaling_NaN();
      EXPECT_TRUE(kernels::cpu::has_non_finite(DType::float64, numbers.data(),
                                               static_cast<int64_t>(count), true));
    }
  }
}

}  // namespace
}  // namespace ebb
