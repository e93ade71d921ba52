// tests/stress/chain_test.cpp -- ten million nodes in a row, and what a node costs in bytes.
#include <gtest/gtest.h>

#include <vector>

#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

constexpr int64_t kMillion = 1'000'000;
constexpr size_t kSmallStack = size_t{512} << 10;

Tensor chain(const Tensor& start, int64_t nodes) {
  const Tensor zeros = vector_of<float>({0, 0, 0, 0});
  Tensor value = start;
  for (int64_t node = 0; node < nodes; ++node) value = value + zeros;
  return value;
}

TEST(Chain, OfTenMillionNodesRunsOnASmallStack) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor end = chain(x, 10 * kMillion);
    backward(end, vector_of<float>({1, 2, 3, 4}));
    EXPECT_EQ(floats(grad_of(x)), (Floats{1, 2, 3, 4}));
  });
}

TEST(Chain, OfTenMillionNodesIsDestroyedUnrunOnASmallStack) {
  run_on_small_stack(kSmallStack, [] {
    const int64_t before = memory_stats().live;
    const Tensor x = leaf({1, 2, 3, 4});
    static_cast<void>(chain(x, 10 * kMillion));
    EXPECT_LT(memory_stats().live - before, 10'000);
  });
}

TEST(Chain, OfTenMillionNodesRunsTwiceIfRetained) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor end = chain(x, 10 * kMillion);
  const Tensor seed = vector_of<float>({1, 2, 3, 4});
  backward(end, seed, {.retain_graph = true});
  backward(end, seed);
  EXPECT_EQ(floats(grad_of(x)), (Floats{2, 4, 6, 8}));
}

TEST(Chain, TakesAtMost130BytesANodeIfItsValuesAreGone) {
  const Tensor x = leaf({1, 2, 3, 4});
  const int64_t before = memory_stats().live;
  const Tensor end = chain(x, kMillion);
  EXPECT_LE((memory_stats().live - before) / kMillion, 130);
}

TEST(Chain, TakesAtMost400BytesANodeIfItsValuesAreKept) {
  const Tensor x = leaf({1, 2, 3, 4});
  std::vector<Tensor> kept;
  kept.reserve(kMillion);
  const int64_t before = memory_stats().live;
  Tensor value = x;
  for (int64_t node = 0; node < kMillion; ++node) {
    value = value + x;
    kept.push_back(value);
  }
  EXPECT_LE((memory_stats().live - before) / kMillion, 400);
}

}  // namespace
}  // namespace ebb
