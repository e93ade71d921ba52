// tests/nn/init_test.cpp -- starting values: bounds, deviations, exact patterns.
#include "ebb/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/random.h"

namespace ebb::nn::init {
namespace {

/// The largest magnitude and the deviation of what is in `tensor`.
struct Spread {
  double largest = 0;
  double deviation = 0;
  explicit Spread(const Tensor& tensor) {
    const double* const values = tensor.data<double>();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      deviation += values[i] * values[i];
    }
    deviation = std::sqrt(deviation / static_cast<double>(tensor.numel()));
  }
};

Tensor weight() {
  default_generator().set_seed(3);
  return ebb::empty(Shape{60, 40, 3}, DType::float64);  // fan in 120, fan out 180
}

TEST(Init, UniformOnesKeepTheirBounds) {
  const double xavier = Spread(xavier_uniform_(weight(), 2.0)).largest;
  EXPECT_NEAR(xavier, 2 * std::sqrt(6.0 / 300), 0.003);
  EXPECT_LE(xavier, 2 * std::sqrt(6.0 / 300));
  const double kaiming =
      Spread(kaiming_uniform_(weight(), 0, FanMode::fan_out, Nonlinearity::linear)).largest;
  EXPECT_NEAR(kaiming, std::sqrt(3.0 / 180), 0.001);
}

TEST(Init, NormalOnesHaveTheirDeviation) {
  EXPECT_NEAR(Spread(xavier_normal_(weight())).deviation, std::sqrt(2.0 / 300), 0.003);
  EXPECT_NEAR(Spread(kaiming_normal_(weight(), 0, FanMode::fan_in, Nonlinearity::relu)).deviation,
              std::sqrt(2.0 / 120), 0.003);
}

TEST(Init, OrthogonalColumnsAreOrthonormal) {
  default_generator().set_seed(3);
  const Tensor tall = orthogonal_(ebb::empty(Shape{70, 40}, DType::float64), 2.0);
  const Tensor products = matmul(transpose(tall, 0, 1), tall);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 40; ++j) {
      EXPECT_NEAR(products.data<double>()[40 * i + j], i == j ? 4.0 : 0.0, 1e-12);
    }
  }
}

TEST(Init, TruncatedNormalKeepsItsBounds) {
  default_generator().set_seed(3);
  const Tensor tensor = trunc_normal_(ebb::empty(Shape{20000}, DType::float64), 0, 2, -2, 2);
  EXPECT_LE(Spread(tensor).largest, 2.0);
  EXPECT_NEAR(Spread(tensor).deviation, 2 * 0.5396, 0.02);
}

TEST(Init, IdentityIsCutToTheShape) {
  const Tensor tensor = eye_(ebb::empty(Shape{2, 3}, DType::float64));
  const double expected[] = {1, 0, 0, 0, 1, 0};
  EXPECT_TRUE(std::equal(expected, expected + 6, tensor.data<double>()));
}

TEST(Init, DiracPassesTheChannelsOfEachGroup) {
  const Tensor tensor = dirac_(ebb::empty(Shape{4, 3, 3}, DType::float64), 2);
  EXPECT_EQ(Spread(tensor).largest, 1.0);
  const double* const values = tensor.data<double>();
  for (const int row : {0, 1, 2, 3}) EXPECT_EQ(values[row * 9 + row % 2 * 3 + 1], 1.0) << row;
  EXPECT_EQ(sum(tensor).data<double>()[0], 4.0);
}

TEST(Init, SparseLeavesOutItsShareOfEachColumn) {
  const Tensor zeros = eq(sparse_(ebb::empty(Shape{10, 6}, DType::float64), 0.3, 2.0), 0);
  const Tensor counts = sum(cast(zeros, DType::float64), Shape{0});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(counts.data<double>()[i], 3.0);
}

TEST(Init, GainsKeepTheVariance) {
  EXPECT_EQ(calculate_gain(Nonlinearity::linear), 1.0);
  EXPECT_EQ(calculate_gain(Nonlinearity::sigmoid), 1.0);
  EXPECT_EQ(calculate_gain(Nonlinearity::selu), 0.75);
  EXPECT_NEAR(calculate_gain(Nonlinearity::tanh), 5.0 / 3, 1e-15);
  EXPECT_NEAR(calculate_gain(Nonlinearity::leaky_relu, 1.0), 1.0, 1e-15);
}

template <typename Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Init, RefusesShapesThatDoNotFit) {
  const Tensor vector = ebb::empty(Shape{3}, DType::float64);
  EXPECT_EQ(message_of([&] { orthogonal_(vector); }),
            "orthogonal_: needs a tensor of at least 2 dims, got shape [3]");
  EXPECT_EQ(message_of([&] { eye_(vector); }), "eye_: needs a tensor of 2 dims, got shape [3]");
  EXPECT_EQ(message_of([&] { kaiming_normal_(vector, 0, FanMode::fan_out); }),
            "kaiming_normal_: needs a tensor of at least 2 dims, got shape [3]");
  EXPECT_EQ(message_of([&] { xavier_uniform_(vector); }),
            "xavier_uniform_: needs a tensor of at least 2 dims, got shape [3]");
  EXPECT_EQ(message_of([&] { trunc_normal_(vector, 0, 1, 2, 2); }),
            "trunc_normal_: needs std > 0 and a < b, got std 1, a 2 and b 2");
}

}  // namespace
}  // namespace ebb::nn::init
