// tests/ops/attention_test.cpp -- how much memory fused attention takes in both directions.
#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/scaled_dot_product_attention.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/runtime/allocator.h"

namespace ebb {
namespace {

TEST(Attention, NeedsMemoryForRowsButNotForTheirProduct) {
  const Tensor query = requires_grad_(randn(Shape{1, 1, 2048, 16}));
  backward(sum(scaled_dot_product_attention(query, query, query)));  // grows the caches
  reset_peak_memory();
  const int64_t before = memory_stats().live;
  backward(sum(scaled_dot_product_attention(query, query, query)));
  const int64_t matrix = int64_t{2048} * 2048 * 4;
  EXPECT_LT(memory_stats().peak - before, matrix / 4);
}

}  // namespace
}  // namespace ebb
