// tests/stress/saved_hooks_test.cpp -- a million nodes whose saved values are packed.
#include "ebb/autograd/history/saved_hooks.h"

#include <gtest/gtest.h>

#include <ctime>

#include "ebb/autograd/checkpoint/checkpoint.h"
#include "ebb/autograd/ops/sin.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

constexpr size_t kSmallStack = size_t{512} << 10;

/// Processor time to build, run and destroy a chain of packed nodes.
double seconds_for(int64_t nodes, bool runs) {
  const std::clock_t start = std::clock();
  {
    const SavedTensorsHooksGuard hooks(
        [](const Tensor& value) -> std::any { return value; },
        [](const std::any& value) { return std::any_cast<Tensor>(value); });
    const Tensor x = leaf({1});
    Tensor value = x;
    for (int64_t node = 0; node < nodes; ++node) value = sin(value);
    if (runs) {
      backward(value);
      EXPECT_GT(floats(grad_of(x))[0], 0);
    }
  }
  return static_cast<double>(std::clock() - start);
}

TEST(SavedHooksStress, AMillionPackedNodesTakeLinearTimeOnASmallStack) {
  for (const bool runs : {true, false}) {
    run_on_small_stack(kSmallStack, [runs] {
      const double tenth = seconds_for(100'000, runs);
      EXPECT_LT(seconds_for(1'000'000, runs), 30 * tenth);
    });
  }
}

TEST(SavedHooksStress, AHundredThousandCheckpointsRunOnASmallStack) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1});
    Tensor value = x;
    for (int step = 0; step < 100'000; ++step) {
      value = checkpoint([](const Tensor& input) { return sin(input); }, value);
    }
    backward(value);
    EXPECT_GT(floats(grad_of(x))[0], 0);
  });
}

}  // namespace
}  // namespace ebb
