// tests/nn/training_test.cpp -- the layers together: a small network learns, the same on any number
// of threads, without leaking.
#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/layers.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"

namespace ebb::nn {
namespace {

/// Points of the plane labelled by the exclusive or of their signs: no line separates them.
struct SignsOfTwo {
  Tensor points = randn(Shape{256, 2});
  Tensor labels = zeros(Shape{256}, DType::int64);
  SignsOfTwo() {
    const auto* const values = points.data<float>();
    for (int i = 0; i < 256; ++i) {
      labels.data<int64_t>()[i] = (values[2 * i] > 0) != (values[2 * i + 1] > 0) ? 1 : 0;
    }
  }
};

/// Trains from a fixed seed and returns the loss after each step.
std::vector<float> losses_of(int steps) {
  default_generator().set_seed(5);
  const SignsOfTwo data;
  Sequential net(Linear(2, 32), ReLU(), Linear(32, 2));
  CrossEntropyLoss criterion;
  optim::AdamW optimizer(net.parameters(), {.lr = 0.02});
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = criterion(net(data.points), data.labels);
    backward(loss);
    optimizer.step();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

TEST(Training, LearnsWhatNoLineSeparates) {
  const std::vector<float> losses = losses_of(300);
  EXPECT_GT(losses.front(), 0.5f);
  EXPECT_LT(losses.back(), 0.1f);
}

TEST(Training, GivesTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<float> expected = losses_of(20);
  for (const int threads : {2, 3, 4, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(losses_of(20), expected) << threads;
  }
  set_num_threads(before);
}

TEST(Training, LeavesNoMemoryBehind) {
  losses_of(2);
  const int64_t before = memory_stats().live;
  losses_of(10);
  EXPECT_EQ(memory_stats().live, before);
}

}  // namespace
}  // namespace ebb::nn
