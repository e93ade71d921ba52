// tests/stress/views_chain_test.cpp -- a million views and in-place writes, on a small stack.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

constexpr size_t kSmallStack = 512 * 1024;
#ifdef EBB_SANITIZER_BUILD
constexpr int64_t kMany = 50'000;
#else
constexpr int64_t kMany = 1'000'000;
#endif

TEST(ViewsChain, TakesAMillionViewsOfViews) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1, 2});
    Tensor value = x * 1;
    for (int64_t step = 0; step < kMany; ++step) value = reshape(value, Shape{2});
    backward(sum(value));
    EXPECT_EQ(floats(grad_of(x)), (Floats{1, 1}));
  });
}

TEST(ViewsChain, TakesAMillionWritesThroughViews) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1});
    const Tensor total = zeros(Shape{2});
    for (int64_t step = 0; step < kMany; ++step) {
      const Tensor part = narrow(total, 0, step % 2, 1);
      add_(part, x);
    }
    backward(sum(total));
    EXPECT_EQ(floats(grad_of(x)), Floats{static_cast<float>(kMany)});
  });
}

TEST(ViewsChain, DestroysAMillionStaleViewsAndWritesThatNeverRan) {
  run_on_small_stack(kSmallStack, [] {
    const Tensor x = leaf({1, 2});
    const Tensor y = x * 1;
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(kMany));
    for (int64_t step = 0; step < kMany; ++step) {
      parts.push_back(narrow(y, 0, 0, 1));
      mul_(parts.back(), 1.0);
    }
    for (const Tensor& part : parts) EXPECT_TRUE(part.requires_grad());
  });
}

TEST(ViewsChain, WritesOnePartAfterAnotherInTheMemoryOfOneGradient) {
  // Clearing a part of the gradient must not copy all of it: 20,000 times 20,000 floats.
  const int64_t count = kMany / 50;
  const Tensor x = leaf({1});
  const Tensor total = zeros(Shape{count});
  for (int64_t step = 0; step < count; ++step) copy_(narrow(total, 0, step, 1), x);
  backward(sum(total));
  EXPECT_EQ(floats(grad_of(x)), Floats{static_cast<float>(count)});
}

}  // namespace
}  // namespace ebb
