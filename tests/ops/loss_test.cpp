// tests/ops/loss_test.cpp -- log_softmax, nll_loss and cross_entropy on numbers checked by hand.
#include "ebb/ops/impl/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/cross_entropy.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/log_softmax.h"
#include "ebb/autograd/ops/nll_loss.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/softmax.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

using kernels::Reduction;

void expect_near(const Tensor& tensor, const std::vector<double>& expected) {
  const std::vector<double> got = values_of<double>(tensor);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << "element " << i;
}

TEST(LogSoftmax, SurvivesLargeInputs) {
  expect_near(log_softmax(vector_of<float>({1000, 1000}), 0), {std::log(0.5), std::log(0.5)});
  const Tensor x = tensor_of<double>({0, 0, std::log(3.0), 0}, {2, 2});
  expect_near(log_softmax(x, 0), {std::log(0.25), std::log(0.5), std::log(0.75), std::log(0.5)});
  expect_near(softmax(x, 1), {0.5, 0.5, 0.75, 0.25});
}

TEST(LogSoftmax, HandlesZeroDimsSizesAndDtypes) {
  expect_near(log_softmax(full(Shape{}, 3.0), 0), {0});
  EXPECT_EQ(log_softmax(count_up({0, 3}), 1).numel(), 0);
  EXPECT_EQ(log_softmax(count_up({3}, DType::int64), 0, DType::float64).dtype(), DType::float64);
  EXPECT_EQ(error_of<DTypeError>([] { log_softmax(count_up({3}, DType::int64), 0); }),
            "log_softmax: needs a floating dtype, got int64 [3]\nhint: pass dtype=float32");
  EXPECT_EQ(error_of<IndexError>([] { log_softmax(count_up({3}), 1); }),
            "log_softmax: dim must be from -1 to 0, got 1 for float32 [3]");
}

TEST(NllLoss, PicksTheTargetAndReduces) {
  const Tensor x = tensor_of<double>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor target = vector_of<int64_t>({2, 0});
  expect_near(nll_loss(x, target, {}, -100, Reduction::none), {-3, -4});
  expect_near(nll_loss(x, target), {-3.5});
  expect_near(nll_loss(x, target, {}, -100, Reduction::sum), {-7});
  expect_near(nll_loss(x, target, vector_of<double>({3, 1, 1})), {-(3.0 + 12.0) / 4});
  expect_near(nll_loss(x, target, {}, 2), {-4});
}

TEST(NllLoss, TakesOneRowAndFurtherDims) {
  expect_near(nll_loss(vector_of<double>({1, 2}), full(Shape{}, 1)), {-2});
  const Tensor x = count_up({1, 2, 3}, DType::float64);  // classes are dim 1
  const Tensor target = tensor_of<int64_t>({0, 1, 0}, {1, 3});
  expect_near(nll_loss(x, target, {}, -100, Reduction::none), {0, -4, -2});
  EXPECT_EQ(list(nll_loss(x, target, {}, -100, Reduction::none).sizes()), (Ints{1, 3}));
}

TEST(NllLoss, GradientReachesTheTargetsOnly) {
  const Tensor target = tensor_of<int64_t>({0, 1, 0}, {1, 3});
  const Tensor grad = ops::impl::nll_loss_backward(full(Shape{}, 3.0, DType::float64), target, {},
                                                   Shape{1, 2, 3}, -100, Reduction::mean);
  expect_near(grad, {-1, 0, -1, 0, -1, 0});
}

TEST(NllLoss, RefusesBadTargets) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<IndexError>([&] {
              nll_loss(x, vector_of<int64_t>({0, 3}));
            }),
            "nll_loss: target must be a class from 0 to 2 or ignore_index -100, got 3 at position "
            "[1]");
  EXPECT_EQ(error_of<IndexError>([&] {
              nll_loss(x, vector_of<int64_t>({-100, -1}));
            }),
            "nll_loss: target must be a class from 0 to 2 or ignore_index -100, got -1 at "
            "position [1]");
  EXPECT_EQ(error_of<ShapeError>([&] { nll_loss(x, vector_of<int64_t>({0})); }),
            "nll_loss: target must have the sizes of input without the classes (dim 1), got target "
            "int64 [1] for input [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              nll_loss(x, vector_of<int64_t>({0, 1}), count_up({2}));
            }),
            "nll_loss: weight needs one element per class, got float32 [2] for 3 classes");
}

TEST(CrossEntropy, IsNllLossOfLogSoftmax) {
  const Tensor x = tensor_of<double>({0, std::log(3.0), 0, 0}, {2, 2});
  expect_near(cross_entropy(x, vector_of<int64_t>({1, 0}), {}, -100, Reduction::none),
              {-std::log(0.75), std::log(2.0)});
  EXPECT_TRUE(
      std::isnan(cross_entropy(count_up({0, 2}), zeros(Shape{0}, DType::int64)).item<float>()));
}

TEST(CrossEntropy, TakesProbabilities) {
  const Tensor x = tensor_of<double>({0, std::log(3.0)}, {1, 2});
  const Tensor target = tensor_of<double>({0.5, 0.5}, {1, 2});
  expect_near(cross_entropy(x, target), {-(std::log(0.25) + std::log(0.75)) / 2});
  EXPECT_EQ(error_of<ShapeError>([&] { cross_entropy(x, ones(Shape{1})); }),
            "cross_entropy: target needs classes (int64) or probabilities in the shape of input, "
            "got target float32 [1] for input float64 [1, 2]");
}

TEST(CrossEntropy, SmoothsLabelsLikeMixedProbabilities) {
  const Tensor x = tensor_of<double>({0.3, -1, 2, 0.5, 0.1, -0.2}, {2, 3});
  const Tensor target = vector_of<int64_t>({2, 0});
  const Tensor mixed = tensor_of<double>({0.1, 0.1, 0.8, 0.8, 0.1, 0.1}, {2, 3});
  expect_near(cross_entropy(x, target, {}, -100, Reduction::mean, 0.3),
              values_of<double>(cross_entropy(x, mixed)));
  expect_near(cross_entropy(x, target, {}, -100, Reduction::sum, 0.3),
              values_of<double>(cross_entropy(x, mixed, {}, -100, Reduction::sum)));
  EXPECT_EQ(error_of<ValueError>([&] { cross_entropy(x, target, {}, -100, Reduction::mean, 1.5); }),
            "cross_entropy: label_smoothing must be from 0 to 1, got 1.5");
}

}  // namespace
}  // namespace ebb
