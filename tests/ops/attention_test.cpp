// tests/ops/attention_test.cpp -- fused attention: small numbers by hand, memory, bad operands.
#include "ebb/autograd/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/attention_backward.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/scaled_dot_product_attention.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Attention, AveragesValuesByTheExponentialsOfScores) {
  const Tensor query = tensor_of<float>({1}, {1, 1, 1, 1});
  const Tensor key = tensor_of<float>({0, std::log(3.0f)}, {1, 1, 2, 1});
  const Tensor value = tensor_of<float>({4, 8}, {1, 1, 2, 1});
  const auto [out, logsumexp] = attention(query, key, value, {}, 0, false, 1, 0, 0);
  EXPECT_NEAR(floats(out)[0], 0.25 * 4 + 0.75 * 8, 1e-6);
  EXPECT_NEAR(floats(logsumexp)[0], std::log(4.0), 1e-6);
}

TEST(Attention, HidesTheFutureIfCausal) {
  const Tensor zero = zeros(Shape{1, 1, 3, 1}, DType::float32);
  const Tensor value = tensor_of<float>({3, 9, 27}, {1, 1, 3, 1});
  const auto [out, logsumexp] = attention(zero, zero, value, {}, 0, true, 1, 0, 0);
  const Floats found = floats(out), wanted{3, 6, 13};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5);
}

TEST(Attention, NeedsMemoryForRowsButNotForTheirProduct) {
  const Tensor query = requires_grad_(randn(Shape{1, 1, 2048, 16}));
  backward(sum(scaled_dot_product_attention(query, query, query)));  // grows the caches
  reset_peak_memory();
  const int64_t before = memory_stats().live;
  backward(sum(scaled_dot_product_attention(query, query, query)));
  const int64_t matrix = int64_t{2048} * 2048 * 4;
  EXPECT_LT(memory_stats().peak - before, matrix / 4);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const Tensor four = zeros(Shape{2, 4, 3, 5}, DType::float32);
  const auto call = [&](const Tensor& key, const Tensor& value, const Tensor& mask, double p) {
    attention(four, key, value, mask, p, false, 1, 0, 0);
  };
  const Tensor three_heads = zeros(Shape{2, 3, 3, 5}, DType::float32);
  EXPECT_THROW(call(three_heads, three_heads, {}, 0), ShapeError);
  EXPECT_THROW(call(four, zeros(Shape{2, 4, 2, 5}, DType::float32), {}, 0), ShapeError);
  EXPECT_THROW(call(four, four, zeros(Shape{3, 3}, DType::float32), 0), ShapeError);
  EXPECT_THROW(call(four, four, zeros(Shape{1, 1, 3, 3}, DType::int64), 0), DTypeError);
  EXPECT_THROW(call(four, four, {}, -0.5), ValueError);
  EXPECT_THROW(attention_backward(four, four, four, {}, four, four, four, 0, false, 1, 0, 0),
               ShapeError);  // logsumexp
}

TEST(Attention, OfNoQueriesOrNoKeysIsZero) {
  const Tensor some = ones(Shape{1, 1, 2, 3}, DType::float32);
  const Tensor none = zeros(Shape{1, 1, 0, 3}, DType::float32);
  EXPECT_EQ(std::get<0>(attention(none, some, some, {}, 0, false, 1, 0, 0)).numel(), 0);
  const auto [out, logsumexp] = attention(some, none, none, {}, 0, false, 1, 0, 0);
  EXPECT_EQ(floats(out), Floats(6, 0.0f));
}

}  // namespace
}  // namespace ebb
