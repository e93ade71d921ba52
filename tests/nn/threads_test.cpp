// tests/nn/threads_test.cpp -- threads of the caller's train at the same time: nets of their own,
// which share the pool and the caches below, or one net, whose gradients add up.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/convolution.h"
#include "ebb/nn/layers.h"
#include "ebb/nn/normalization.h"
#include "ebb/nn/pooling.h"
#include "ebb/nn/recurrent.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"

namespace ebb::nn {
namespace {

constexpr int kThreads = 4;

/// Restores the size of the pool.
class PoolOf {
 public:
  explicit PoolOf(int threads) : before_(num_threads()) { set_num_threads(threads); }
  ~PoolOf() { set_num_threads(before_); }

 private:
  int before_;
};

void run_at_once(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

/// A net, its data and its optimizer.
class Task {
 public:
  virtual ~Task() = default;
  virtual Tensor loss() = 0;
  virtual optim::Optimizer& optimizer() = 0;

  std::vector<float> losses_of(int steps) {
    std::vector<float> losses;
    for (int step = 0; step < steps; ++step) {
      optimizer().zero_grad();
      const Tensor value = loss();
      backward(value);
      optimizer().step();
      losses.push_back(value.item<float>());
    }
    return losses;
  }
};

/// Layers whose kernels keep plans and buffers, large enough for several pieces.
class Images : public Task {
 public:
  Tensor loss() override { return cross_entropy_(net_(images_), labels_); }
  optim::Optimizer& optimizer() override { return optimizer_; }

 private:
  Tensor images_ = randn(Shape{16, 3, 12, 12});
  Tensor labels_ = zeros(Shape{16}, DType::int64);
  Sequential net_{Conv2d(3, 16, 3, {.padding = 1}),
                  BatchNorm2d(16),
                  MaxPool2d(2),
                  Conv2d(16, 16, 3),
                  Flatten(),
                  Linear(256, 4)};
  CrossEntropyLoss cross_entropy_;
  optim::SGD optimizer_{net_.parameters(), {.lr = 0.05, .momentum = 0.9}};
};

class Sequences : public Task {
 public:
  Tensor loss() override {
    const Tensor states = net_(inputs_);
    return mean(states * states);
  }
  optim::Optimizer& optimizer() override { return optimizer_; }

 private:
  Tensor inputs_ = randn(Shape{6, 24, 16});
  LSTM net_{16, 32};
  optim::AdamW optimizer_{net_.parameters(), {.lr = 0.01}};
};

template <class Kind>
void expect_same_losses_at_once() {
  const PoolOf pool(3);
  std::vector<std::unique_ptr<Kind>> tasks;
  for (int i = 0; i <= kThreads; ++i) {
    default_generator().set_seed(3);
    tasks.push_back(std::make_unique<Kind>());
  }
  std::vector<std::vector<float>> losses(kThreads);
  run_at_once(
      [&](int i) { losses[static_cast<size_t>(i)] = tasks[static_cast<size_t>(i)]->losses_of(3); });
  const std::vector<float> expected = tasks.back()->losses_of(3);
  EXPECT_LT(expected.back(), expected.front());
  for (const auto& found : losses) EXPECT_EQ(found, expected);
}

TEST(CallersThreads, TrainConvolutionsAtOnce) { expect_same_losses_at_once<Images>(); }

TEST(CallersThreads, TrainRecurrentNetsAtOnce) { expect_same_losses_at_once<Sequences>(); }

TEST(CallersThreads, AddUpTheGradientsOfOneNet) {
  const PoolOf pool(3);
  default_generator().set_seed(3);
  const Tensor images = randn(Shape{8, 3, 8, 8});
  Sequential net(Conv2d(3, 8, 3), Flatten(), LayerNorm(Shape{288}), Linear(288, 2));
  const auto sums = [&] {
    std::vector<float> values;
    for (const Tensor& parameter : net.parameters()) {
      values.push_back(sum(abs(grad_of(parameter))).item<float>());
    }
    return values;
  };
  backward(sum(net(images)));
  const std::vector<float> once = sums();
  net.zero_grad();
  run_at_once([&](int) { backward(sum(net(images))); });
  const std::vector<float> together = sums();
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_NEAR(together[i], kThreads * once[i], 1e-4f * kThreads * once[i]) << i;
  }
}

}  // namespace
}  // namespace ebb::nn
