// tests/nn/recurrent_test.cpp -- LSTM and GRU: numbers by hand, shapes, names, states.
#include "ebb/nn/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/init.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

/// Every weight 0.5.
template <typename Net>
void fill(Net& net) {
  for (const Tensor& one : net.parameters()) nn::init::constant_(one, 0.5);
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Lstm, RunsItsGatesInOrder) {
  nn::LSTM net(1, 1);
  fill(net);
  const Tensor x = tensor_of<float>({1, 2}, {2, 1, 1});
  const auto [output, h_n, c_n] = net.forward(x, {}, {});
  double h = 0, c = 0;
  for (const double input : {1.0, 2.0}) {
    const double sum = 0.5 * input + 0.5 * h + 1;  // all four gates have the same weights
    c = logistic(sum) * c + logistic(sum) * std::tanh(sum);
    h = logistic(sum) * std::tanh(c);
  }
  EXPECT_NEAR(floats(output)[1], h, 1e-6);
  EXPECT_NEAR(floats(h_n)[0], h, 1e-6);
  EXPECT_NEAR(floats(c_n)[0], c, 1e-6);
}

TEST(Gru, RunsItsGatesInOrder) {
  nn::GRU net(1, 1);
  fill(net);
  const auto result =
      net.forward(tensor_of<float>({1}, {1, 1, 1}), tensor_of<float>({2}, {1, 1, 1}));
  const double gate = logistic(0.5 + 0.5 + 0.5 * 2 + 0.5);
  const double fresh = std::tanh(0.5 + 0.5 + gate * (0.5 * 2 + 0.5));
  EXPECT_NEAR(floats(result.output)[0], (1 - gate) * fresh + gate * 2, 1e-6);
  EXPECT_FALSE(result.c_n.defined());
}

TEST(Lstm, StacksLayersAndDirections) {
  nn::LSTM net(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  EXPECT_EQ(net.parameters().size(), 16u);
  EXPECT_EQ(net.named_parameters()[4].first, "weight_ih_l0_reverse");
  EXPECT_EQ(net.named_parameters()[8].second.shape(), (Shape{16, 8}));
  const auto [output, h_n, c_n] = net.forward(randn(Shape{5, 7, 3}), {}, {});
  EXPECT_EQ(output.shape(), (Shape{5, 7, 8}));
  EXPECT_EQ(h_n.shape(), (Shape{4, 5, 4}));
  EXPECT_EQ(c_n.shape(), (Shape{4, 5, 4}));
}

TEST(Gru, ReachesAllParametersWithItsGradient) {
  nn::GRU net(3, 4, {.num_layers = 2, .dropout = 0.5});
  backward(sum(net.forward(randn(Shape{5, 2, 3}))));
  for (const Tensor& one : net.parameters()) EXPECT_TRUE(grad_of(one).defined());
}

TEST(Gru, DropsBetweenLayersWhileTraining) {
  nn::GRU net(3, 4, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = randn(Shape{5, 2, 3});
  EXPECT_NE(floats(net.forward(x)), floats(net.forward(x)));
  net.eval();
  EXPECT_EQ(floats(net.forward(x)), floats(net.forward(x)));
}

TEST(Lstm, RefusesWhatDoesNotFit) {
  EXPECT_THROW(nn::LSTM(0, 4), ValueError);
  EXPECT_THROW(nn::LSTM(3, 4, {.dropout = 2}), ValueError);
  nn::LSTM net(3, 4);
  EXPECT_THROW(net.forward(zeros(Shape{2, 3})), ShapeError);
  EXPECT_THROW(net.forward(zeros(Shape{5, 2, 3}), zeros(Shape{1, 1, 4}), {}), ShapeError);
}

}  // namespace
}  // namespace ebb
