// tests/autograd/engine/depth_test.cpp -- deep and wide graphs, on a small stack where recursion
// would die.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

constexpr size_t kSmallStack = 512 * 1024;
#ifdef EBB_SANITIZER_BUILD
constexpr int64_t kDeep = 100'000;
#else
constexpr int64_t kDeep = 1'000'000;
#endif

TEST(Depth, BuildsRunsAndDestroysAMillionNodesOnASmallStack) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1});
    const Tensor zero = vector_of<float>({0});
    Tensor value = x;
    for (int64_t step = 0; step < kDeep; ++step) value = value + zero;
    backward(value);
    EXPECT_EQ(floats(grad_of(x)), Floats{1});
  });
}

TEST(Depth, DestroysAGraphThatWasNeverRun) {
  run_on_small_stack(kSmallStack, [] {
    Tensor value = leaf({1});
    for (int64_t step = 0; step < kDeep; ++step) value = value * value;  // saves both operands
  });
}

TEST(Depth, RunsAChainOfHigherOrder) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1});
    Tensor value = x;
    for (int64_t step = 0; step < kDeep / 20; ++step) value = value * 1.0;
    const Tensor first =
        grad(std::span(&value, 1), std::span(&x, 1), {}, {.create_graph = true})[0];
    EXPECT_EQ(floats(first), Floats{1});
  });
}

TEST(Width, SumsAHundredThousandEdgesIntoOneLeaf) {
  const Tensor x = leaf({1});
  Tensor total = x;
  for (int step = 1; step < 100'000; ++step) total = total + x;
  backward(total);
  EXPECT_EQ(floats(grad_of(x)), Floats{100'000});
}

TEST(Width, JoinsTenThousandInputsInOneNode) {
  std::vector<Tensor> parts;
  for (int index = 0; index < 10'000; ++index) parts.push_back(leaf({1}));
  backward(sum(cat(parts, 0) * 3));
  EXPECT_EQ(floats(grad_of(parts.front())), Floats{3});
  EXPECT_EQ(floats(grad_of(parts.back())), Floats{3});
}

TEST(Width, SplitsIntoTenThousandOutputsOfOneNode) {
  const Tensor x = requires_grad_(ones(Shape{10'000}, DType::float32));
  const std::vector<int64_t> sizes(10'000, 1);
  std::vector<Tensor> parts = split(x, sizes, 0);
  backward(parts[9'999] * 2);
  EXPECT_EQ(floats(grad_of(x))[9'999], 2.0f);
  EXPECT_EQ(floats(grad_of(x))[0], 0.0f);
}

TEST(Width, TakesTenThousandRoots) {
  const Tensor x = leaf({1});
  std::vector<Tensor> roots;
  for (int index = 0; index < 10'000; ++index) roots.push_back(x * 1.0);
  backward(roots);
  EXPECT_EQ(floats(grad_of(x)), Floats{10'000});
}

}  // namespace
}  // namespace ebb
