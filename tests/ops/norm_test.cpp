// tests/ops/norm_test.cpp -- normalisations on numbers checked by hand, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/batch_norm.h"
#include "ebb/autograd/ops/group_norm.h"
#include "ebb/autograd/ops/layer_norm.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/rms_norm.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

void expect_near(const Tensor& tensor, const std::vector<double>& expected) {
  const std::vector<double> got = values_of<double>(tensor);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-12) << "element " << i;
}

TEST(LayerNormOp, NormalisesTheLastDims) {
  const Tensor x = tensor_of<double>({1, 3, -4, 4}, {2, 2});
  expect_near(layer_norm(x, Shape{2}, {}, {}, 0), {-1, 1, -1, 1});
  const double root = std::sqrt(9.5);  // over all four: mean 1, variance (0 + 4 + 25 + 9) / 4
  expect_near(layer_norm(x, Shape{2, 2}, {}, {}, 0), {0, 2 / root, -5 / root, 3 / root});
  expect_near(layer_norm(x, Shape{2}, vector_of<double>({2, 3}), vector_of<double>({10, 20}), 0),
              {8, 23, 8, 23});
}

TEST(RmsNormOp, DividesByTheRootOfTheMeanSquare) {
  expect_near(rms_norm(tensor_of<double>({1, 7}, {1, 2}), Shape{2}, {}, 0.0), {0.2, 1.4});
}

TEST(GroupNormOp, GivesEachChannelItsWeight) {
  const Tensor x = tensor_of<double>({1, 3, 1, 3}, {1, 2, 2});  // one group: mean 2, variance 1
  const Tensor out = group_norm(x, 1, vector_of<double>({1, 2}), vector_of<double>({0, 5}), 0);
  expect_near(out, {-1, 1, 3, 7});
}

TEST(BatchNormOp, NormalisesColumnsAndRemembersThem) {
  const Tensor x = tensor_of<double>({1, 10, 3, 30}, {2, 2});
  const Tensor mean = zeros(Shape{2}, DType::float64), var = ones(Shape{2}, DType::float64);
  expect_near(batch_norm(x, mean, var, {}, {}, true, 0.5, 0), {-1, -1, 1, 1});
  expect_near(mean, {1, 10});
  expect_near(var, {1.5, 100.5});  // half way to the unbiased variances 2 and 200
  expect_near(batch_norm(x, mean, var, {}, {}, false, 0.5, 0),
              {0, 0, 2 / std::sqrt(1.5), 20 / std::sqrt(100.5)});
}

TEST(Norms, RefuseWhatDoesNotFit) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<ShapeError>([&] { layer_norm(x, Shape{2}); }),
            "layer_norm: normalized_shape must be the last sizes of input, got [2] for float32 "
            "[2, 3]");
  EXPECT_EQ(error_of<ValueError>([&] { group_norm(x, 2); }),
            "group_norm: num_groups must divide the 3 channels of input, got 2");
  EXPECT_EQ(error_of<DTypeError>([&] { rms_norm(x, Shape{3}, ones(Shape{3}, DType::float64)); }),
            "rms_norm: weight needs the dtype float32 of input, got float64 [3]");
  EXPECT_EQ(error_of<ValueError>([&] { batch_norm(x, {}, {}, {}, {}, true, 0.1, -1); }),
            "batch_norm: eps must not be negative, got -1");
}

}  // namespace
}  // namespace ebb
