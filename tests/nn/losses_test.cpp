// tests/nn/losses_test.cpp -- loss modules on numbers checked by hand.
#include "ebb/nn/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/reshape.h"

namespace ebb::nn {
namespace {

using kernels::Reduction;

Tensor floats(std::initializer_list<float> values) {
  const Tensor tensor = ebb::empty(Shape{static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

TEST(Losses, OfDifferences) {
  const Tensor input = floats({1, -3}), target = floats({0, 1});  // differences 1 and -4
  EXPECT_FLOAT_EQ(MSELoss()(input, target).item<float>(), 8.5f);
  EXPECT_FLOAT_EQ(MSELoss(Reduction::sum)(input, target).item<float>(), 17.0f);
  EXPECT_FLOAT_EQ(L1Loss()(input, target).item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(SmoothL1Loss(Reduction::sum, 2)(input, target).item<float>(), 0.25f + 3);
  EXPECT_FLOAT_EQ(HuberLoss(Reduction::sum, 2)(input, target).item<float>(), 0.5f + 6);
}

TEST(Losses, OfProbabilities) {
  const Tensor target = floats({1, 0});
  const float fair = std::log(2.0f);
  EXPECT_FLOAT_EQ(BCELoss()(floats({0.5f, 0.5f}), target).item<float>(), fair);
  EXPECT_FLOAT_EQ(BCELoss(floats({3, 1}))(floats({0.5f, 0.5f}), target).item<float>(), 2 * fair);
  EXPECT_FLOAT_EQ(BCEWithLogitsLoss()(floats({0, 0}), target).item<float>(), fair);
  BCEWithLogitsLoss weighted({}, Reduction::sum, floats({5}));
  EXPECT_FLOAT_EQ(weighted(floats({0, 0}), target).item<float>(), 6 * fair);
  EXPECT_EQ(weighted.named_buffers().size(), 1u);
}

TEST(Losses, OfDistributions) {
  const Tensor logs = floats({std::log(0.25f), std::log(0.75f)});
  const float expected = 0.5f * std::log(0.5f / 0.25f) + 0.5f * std::log(0.5f / 0.75f);
  EXPECT_NEAR(KLDivLoss(Reduction::sum)(logs, floats({0.5f, 0.5f})).item<float>(), expected, 1e-6);
  const Tensor rows = reshape(logs, Shape{1, 2});
  EXPECT_FLOAT_EQ(NLLLoss()(rows, full(Shape{1}, 1)).item<float>(), -std::log(0.75f));
  EXPECT_FLOAT_EQ(NLLLoss({}, 1, Reduction::sum)(rows, full(Shape{1}, 1)).item<float>(), 0);
}

}  // namespace
}  // namespace ebb::nn
