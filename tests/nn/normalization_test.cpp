// tests/nn/normalization_test.cpp -- normalisation layers: what they hold, and their two modes.
#include "ebb/nn/normalization.h"

#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "tests/ops/op_test_support.h"

namespace ebb::nn {
namespace {

void expect_values(const Tensor& tensor, std::initializer_list<float> expected) {
  ASSERT_EQ(tensor.numel(), static_cast<int64_t>(expected.size()));
  const float* got = tensor.data<float>();
  for (const float value : expected) EXPECT_NEAR(*got++, value, 1e-6f);
}

TEST(LayerNorm, BringsRowsToMeanZeroAndVarianceOne) {
  LayerNorm layer(Shape{2}, {.eps = 0});
  expect_values(layer(tensor_of<float>({1, 3, -2, 8}, Shape{2, 2})), {-1, 1, -1, 1});
  EXPECT_EQ(names_of(layer.named_parameters()), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_TRUE(LayerNorm(Shape{2}, {.elementwise_affine = false}).parameters().empty());
  EXPECT_EQ(LayerNorm(Shape{2}, {.with_bias = false}).parameters().size(), 1u);
}

TEST(LayerNorm, RefusesBadSizes) {
  EXPECT_THROW(LayerNorm(Shape{}), ValueError);
  EXPECT_THROW(LayerNorm(Shape{-1}), ValueError);
}

TEST(RMSNorm, DividesByTheRootOfTheMeanSquare) {
  RMSNorm layer(Shape{2}, {.eps = 0.0});
  expect_values(layer(tensor_of<float>({1, 7}, Shape{1, 2})), {0.2f, 1.4f});
  EXPECT_EQ(layer.parameters().size(), 1u);
}

TEST(GroupNorm, NormalisesEachGroupByItself) {
  GroupNorm layer(2, 4, {.eps = 0});
  expect_values(layer(tensor_of<float>({1, 3, 10, 30}, Shape{1, 4})), {-1, 1, -1, 1});
  EXPECT_THROW(GroupNorm(3, 4), ValueError);
  EXPECT_THROW(GroupNorm(0, 4), ValueError);
}

TEST(BatchNorm, TrainsOnTheBatchAndEvaluatesWithRunningStatistics) {
  BatchNorm1d layer(1, {.eps = 0, .momentum = 0.5});
  expect_values(layer(tensor_of<float>({1, 3}, Shape{2, 1})), {-1, 1});
  expect_values(layer.running_mean, {1});    // half way from 0 to 2
  expect_values(layer.running_var, {1.5f});  // half way from 1 to 2, the unbiased variance
  EXPECT_EQ(layer.num_batches_tracked.item<int64_t>(), 1);
  layer.eval();
  expect_values(layer(tensor_of<float>({1}, Shape{1, 1})), {0});
  expect_values(layer.running_mean, {1});
}

TEST(BatchNorm, AveragesAllBatchesWithoutMomentum) {
  BatchNorm1d layer(1, {.momentum = std::nullopt});
  layer(tensor_of<float>({1, 3}, Shape{2, 1}));
  layer(tensor_of<float>({5, 7}, Shape{2, 1}));
  expect_values(layer.running_mean, {4});
}

TEST(BatchNorm, KeepsStatisticsInItsState) {
  const BatchNorm2d layer(3);
  EXPECT_EQ(names_of(layer.named_buffers()),
            (std::vector<std::string>{"running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_TRUE(BatchNorm2d(3, {.track_running_stats = false}).named_buffers().empty());
}

TEST(BatchNorm, NamesWrongInputs) {
  BatchNorm2d layer(3);
  try {
    layer(tensor_of<float>({1, 2}, Shape{1, 2}));
    FAIL() << "accepted a matrix";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "BatchNorm2d: needs an input of 4 dims with 3 channels, got [1, 2]");
  }
  EXPECT_THROW(BatchNorm1d(-1), ValueError);
}

}  // namespace
}  // namespace ebb::nn
