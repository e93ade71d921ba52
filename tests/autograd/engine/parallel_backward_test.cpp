// tests/autograd/engine/parallel_backward_test.cpp -- branches of a graph on several threads: the
// same bits, and the same failures, as on one.
#include "ebb/autograd/engine/parallel_backward.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/sigmoid.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// Sets the number of threads, and whether backward may use them, for one test.
class ThreadsScope {
 public:
  ThreadsScope(int count, bool is_parallel) : count_(num_threads()), was_(is_parallel_backward()) {
    set_num_threads(count);
    set_parallel_backward(is_parallel);
    set_eager_teams(true);  // the machine may have a single core
  }
  ~ThreadsScope() {
    set_eager_teams(false);
    set_num_threads(count_);
    set_parallel_backward(was_);
  }

 private:
  int count_;
  bool was_;
};

Tensor random_leaf(std::mt19937& random, const Shape& shape) {
  const Tensor values = empty(shape, DType::float32);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t index = 0; index < values.numel(); ++index) {
    values.data<float>()[index] = uniform(random);
  }
  return requires_grad_(values);
}

/// A graph that is wide: every value is made of two earlier ones, far apart, and all end in a sum.
Tensor random_wide_graph(uint32_t seed, const std::vector<Tensor>& leaves, size_t width,
                         size_t length) {
  std::mt19937 random(seed);
  std::vector<Tensor> values;
  for (size_t index = 0; index < width; ++index)
    values.push_back(leaves[index % leaves.size()] * 1.5);
  for (size_t step = 0; step < width * length; ++step) {
    Tensor& value = values[random() % width];
    switch (random() % 16) {
      case 0: value = tanh(value); break;
      case 1: value = value + values[random() % width]; break;
      case 2: value = value * leaves[random() % leaves.size()]; break;
      case 3: value = value - leaves[random() % leaves.size()]; break;
      case 4:
      case 5: value = sigmoid(value * 0.7); break;
      default: value = sin(value); break;
    }
  }
  Tensor total = values[0];
  for (size_t index = 1; index < width; ++index) total = total + values[index];
  return sum(total);
}

std::vector<std::vector<float>> gradients_of_graph(uint32_t seed, int threads, bool is_parallel) {
  const ThreadsScope scope(threads, is_parallel);
  std::mt19937 random(seed);
  std::vector<Tensor> leaves;
  for (int index = 0; index < 5; ++index) leaves.push_back(random_leaf(random, Shape{100, 80}));
  std::vector<std::vector<float>> grads;
  for (int round = 0; round < 2; ++round) {  // the second adds to what the first left
    backward(random_wide_graph(seed, leaves, 3 + seed % 8, 40));
  }
  for (const Tensor& leaf : leaves) {
    const Tensor grad = grad_of(leaf);
    grads.push_back(grad.defined() ? floats(grad) : std::vector<float>());
  }
  return grads;
}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  if (a.size() != b.size()) return false;
  for (size_t index = 0; index < a.size(); ++index) {
    if (a[index].size() != b[index].size()) return false;
    if (a[index].empty()) continue;
    if (std::memcmp(a[index].data(), b[index].data(), a[index].size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

TEST(ParallelBackward, GivesTheSameBitsForAnyNumberOfThreads) {
  const uint64_t before = backward_threads().nodes_by_others;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const auto expected = gradients_of_graph(seed, 1, false);
    for (const int threads : {1, 2, 3, 4, 8}) {
      ASSERT_TRUE(same_bits(gradients_of_graph(seed, threads, true), expected))
          << "seed " << seed << ", threads " << threads;
    }
  }
  EXPECT_GT(backward_threads().nodes_by_others, before);  // else nothing was tested
}

/// `count` branches of `length` steps each from one leaf, and their sum.
Tensor branches(const Tensor& x, int count, int length, const RuleBackward::Rule& rule) {
  Tensor total;
  for (int branch = 0; branch < count; ++branch) {
    Tensor value = x * (1.0 + branch);
    for (int step = 0; step < length; ++step) value = with_rule(value, rule);
    total = total.defined() ? total + value : value;
  }
  return total;
}

Tensor slow_identity(const Tensor& grad) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (std::chrono::steady_clock::now() < end) continue;
  return grad * 1.0;
}

TEST(ParallelBackward, LetsOtherThreadsRunBranches) {
  const ThreadsScope scope(2, true);
  const Tensor x = leaf({1, 2});
  const BackwardThreads before = backward_threads();
  for (int round = 0; round < 5; ++round) {
    backward(branches(x, 4, 50, slow_identity), vector_of<float>({1, 1}));
  }
  EXPECT_GT(backward_threads().teams, before.teams);
  EXPECT_GT(backward_threads().nodes_by_others, before.nodes_by_others);
  EXPECT_EQ(floats(grad_of(x)), (Floats{50, 50}));
}

TEST(ParallelBackward, StaysOnOneThreadIfTurnedOff) {
  const ThreadsScope scope(4, false);
  const Tensor x = leaf({1});
  const uint64_t before = backward_threads().teams;
  backward(branches(x, 4, 100, slow_identity));
  EXPECT_EQ(backward_threads().teams, before);
}

TEST(ParallelBackward, StaysOnOneThreadToRecordAGraph) {
  const ThreadsScope scope(4, true);
  const Tensor x = leaf({1});
  const uint64_t before = backward_threads().teams;
  backward(branches(x, 4, 100, slow_identity), {}, {.create_graph = true});
  EXPECT_EQ(backward_threads().teams, before);
}

TEST(ParallelBackward, RunsNodesForTheCallerOnItsThread) {
  const ThreadsScope scope(3, true);
  const Tensor x = leaf({1});
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  Tensor total = x;
  for (int branch = 0; branch < 6; ++branch) {
    Tensor value = x * 1.0;
    for (int step = 0; step < 150; ++step) {
      value = with_rule(value, slow_identity);
      value = with_rule(value, [&](const Tensor& grad) {
        elsewhere += std::this_thread::get_id() != caller;
        return grad;
      });
      autograd::mark_for_caller_thread(*static_cast<autograd::Node*>(value.impl()->producer));
    }
    total = total + value;
  }
  const uint64_t before = backward_threads().nodes_by_others;
  backward(total);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_GT(backward_threads().nodes_by_others, before);
  EXPECT_EQ(floats(grad_of(x)), Floats{7});
}

TEST(ParallelBackward, CarriesTheModesOfTheCaller) {
  const ThreadsScope scope(2, true);
  const Tensor x = leaf({1});
  std::atomic<int> recording{0};
  backward(branches(x, 4, 50, [&](const Tensor& grad) {
    recording += is_grad_enabled();
    return slow_identity(grad);
  }));
  EXPECT_EQ(recording, 0);
}

TEST(ParallelBackward, StopsAllThreadsWithinANodeIfOneFails) {
  const ThreadsScope scope(4, true);
  for (int round = 0; round < 20; ++round) {
    const Tensor x = leaf({1});
    std::atomic<int> count{0};
    std::atomic<int> after_failure{0};
    std::atomic<bool> has_failed{false};
    const Tensor out = branches(x, 8, 50, [&](const Tensor& grad) {
      if (has_failed) {  // sleeps, so that the one that failed has a core to say so
        ++after_failure;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      if (++count == 150) {
        has_failed = true;
        throw std::out_of_range("the 150th");
      }
      return slow_identity(grad);
    });
    EXPECT_THROW(backward(out), std::out_of_range);
    EXPECT_LE(after_failure, 125);  // of 250; the system may still hold up the one that failed
    EXPECT_FALSE(grad_of(x).defined());
    backward(x * 2);  // the engine is usable
    EXPECT_EQ(floats(grad_of(x)), Floats{2});
  }
}

TEST(ParallelBackward, FreesTheGradientsOfAFailedRun) {
  const ThreadsScope scope(4, true);
  const Tensor x = leaf({1});
  const auto fail_late = [&](std::atomic<int>& count) {
    return branches(x, 8, 50, [&](const Tensor& grad) {
      if (++count == 200) throw ValueError("rule: late");
      return slow_identity(grad);
    });
  };
  std::atomic<int> count{0};
  EXPECT_THROW(backward(fail_late(count)), ValueError);  // fills what threads keep
  const int64_t live = memory_stats().live;
  count = 0;
  EXPECT_THROW(backward(fail_late(count)), ValueError);
  EXPECT_EQ(memory_stats().live, live);
}

TEST(ParallelBackward, RunsAgainAfterAFailureIfRetained) {
  const ThreadsScope scope(4, true);
  const Tensor x = leaf({1});
  std::atomic<int> count{0};
  const Tensor out = branches(x, 8, 50, [&](const Tensor& grad) {
    if (++count == 200) throw ValueError("rule: once");
    return slow_identity(grad);
  });
  EXPECT_THROW(backward(out, {}, {.retain_graph = true}), ValueError);
  backward(out);
  EXPECT_EQ(floats(grad_of(x)), Floats{36});
}

TEST(ParallelBackward, RunsOtherGraphsInsideNodes) {
  const ThreadsScope scope(3, true);
  const Tensor x = leaf({1});
  const Tensor inner = leaf({2});
  backward(branches(x, 6, 20, [&](const Tensor& grad) {
    {
      const EnableGradGuard guard;
      backward(inner * inner);
    }
    return slow_identity(grad);
  }));
  EXPECT_EQ(floats(grad_of(x)), Floats{21});
  EXPECT_EQ(floats(grad_of(inner)), Floats{4 * 120});
}

TEST(ParallelBackward, GivesGradientsOfInputsOnly) {
  const ThreadsScope scope(3, true);
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  const Tensor out = branches(y, 6, 50, slow_identity);
  const Tensor inputs[] = {y, x};
  const std::vector<Tensor> grads = grad(std::span(&out, 1), inputs);
  EXPECT_EQ(floats(grads[0]), Floats{21});
  EXPECT_EQ(floats(grads[1]), Floats{42});
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(ParallelBackward, StopsARunInsideARunThatFails) {
  const ThreadsScope scope(2, true);
  const Tensor x = leaf({1});
  std::atomic<bool> is_inside{false};
  std::atomic<int64_t> inner_nodes{0};
  const auto slow = [&](const Tensor& grad) {
    ++inner_nodes;
    return slow_identity(grad);
  };
  const Tensor inner = branches(leaf({1}), 1, 100'000, slow);  // 5 s
  Tensor long_branch = with_rule(branches(x, 1, 100, slow_identity), [&](const Tensor& grad) {
    is_inside = true;
    backward(inner);
    return grad;
  });
  Tensor failing = branches(x, 1, 2000, [&](const Tensor& grad) {
    if (is_inside) throw std::out_of_range("outer");
    return slow_identity(grad);
  });
  long_branch = branches(long_branch, 1, 100, slow_identity);
  EXPECT_THROW(backward(long_branch + failing), std::out_of_range);
  EXPECT_LT(inner_nodes, 50'000);
}

/// Like gradients_of_graph(), but two leaves and a third share one tensor as their gradient.
std::vector<float> shared_gradient_of_graph(uint32_t seed, int threads, bool is_parallel) {
  const ThreadsScope scope(threads, is_parallel);
  std::mt19937 random(seed);
  std::vector<Tensor> leaves;
  for (int index = 0; index < 5; ++index) leaves.push_back(random_leaf(random, Shape{100, 80}));
  const Tensor grad = full(Shape{100, 80}, 0.1, DType::float32);
  for (int index = 0; index < 3; ++index) set_grad(leaves[static_cast<size_t>(index)], grad);
  backward(random_wide_graph(seed, leaves, 3 + seed % 8, 40));
  return floats(grad);
}

TEST(ParallelBackward, GivesTheSameBitsWhereLeavesShareTheirGradient) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const auto expected = shared_gradient_of_graph(seed, 1, false);
    for (const int threads : {2, 4}) {
      ASSERT_TRUE(same_bits({shared_gradient_of_graph(seed, threads, true)}, {expected}))
          << "seed " << seed << ", threads " << threads;
    }
  }
}

TEST(ParallelBackward, UsesThreadsAgainOnceNoGradientIsShared) {
  const Tensor a = leaf({1}), b = leaf({2});
  set_grad(a, vector_of<float>({0}));
  set_grad(b, grad_of(a));
  const uint64_t shared_before = backward_threads().teams;
  static_cast<void>(gradients_of_graph(3, 4, true));
  EXPECT_EQ(backward_threads().teams, shared_before);
  set_grad(a, {});
  static_cast<void>(gradients_of_graph(3, 4, true));
  EXPECT_GT(backward_threads().teams, shared_before);
}

}  // namespace
}  // namespace ebb
