// tests/stress/random_graph_test.cpp -- random graphs on many threads, against exact integers.
//
// Every value is a sum of two earlier ones with factors from -1 to 1, in float64: gradients are
// integers below 2^40, so sums are exact in any order, and one lost or doubled gradient shows.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

constexpr size_t kLeaves = 3;

struct Step {
  size_t lhs, rhs;
  double lhs_factor, rhs_factor;
};

/// A program of `length` steps; step k makes value kLeaves + k.
std::vector<Step> random_program(uint32_t seed, size_t length) {
  std::mt19937 random(seed);
  std::vector<Step> program;
  for (size_t step = 0; step < length; ++step) {
    const size_t count = kLeaves + step;
    const auto factor = [&] { return static_cast<double>(random() % 3) - 1; };
    // The newest value takes part every time: everything before may matter.
    program.push_back({count - 1, random() % count, step % 4 == 0 ? 1.0 : factor(), factor()});
    if (program.back().lhs_factor == 0) program.back().lhs_factor = 1;
  }
  return program;
}

/// The gradient of the last value with respect to each leaf, by hand.
std::vector<double> expected_gradients(const std::vector<Step>& program) {
  std::vector<double> grads(kLeaves + program.size());
  grads.back() = 1;
  for (size_t step = program.size(); step-- > 0;) {
    const double grad = grads[kLeaves + step];
    grads[program[step].lhs] += grad * program[step].lhs_factor;
    grads[program[step].rhs] += grad * program[step].rhs_factor;
  }
  grads.resize(kLeaves);
  return grads;
}

Tensor run_program(const std::vector<Step>& program, const std::vector<Tensor>& leaves) {
  std::vector<Tensor> values = leaves;
  for (const Step& step : program) {
    values.push_back(values[step.lhs] * step.lhs_factor + values[step.rhs] * step.rhs_factor);
  }
  return values.back();
}

std::vector<Tensor> make_leaves() {
  std::vector<Tensor> leaves;
  for (size_t index = 0; index < kLeaves; ++index) {
    leaves.push_back(requires_grad_(tensor_of<double>({1.0}, {})));
  }
  return leaves;
}

std::vector<double> gradients_by_engine(const Tensor& out, const std::vector<Tensor>& leaves) {
  const std::vector<Tensor> grads =
      grad(std::span(&out, 1), leaves, {}, {.retain_graph = true, .materialize_grads = true});
  std::vector<double> values;
  for (const Tensor& grad : grads) values.push_back(grad.item<double>());
  return values;
}

TEST(RandomGraphs, GiveExactGradients) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const std::vector<Step> program = random_program(seed, 1 + seed % 40);
    const std::vector<Tensor> leaves = make_leaves();
    ASSERT_EQ(gradients_by_engine(run_program(program, leaves), leaves),
              expected_gradients(program))
        << seed;
  }
}

TEST(RandomGraphs, GiveExactGradientsOnEightThreadsAtOnce) {
  std::atomic<int> wrong{0};
  on_threads(8, [&](uint32_t thread) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const std::vector<Step> program = random_program(1000 * thread + seed, 40);
      const std::vector<Tensor> leaves = make_leaves();
      const Tensor out = run_program(program, leaves);
      wrong += gradients_by_engine(out, leaves) != expected_gradients(program);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(RandomGraphs, AreRunByEightThreadsAtOnceIfRetained) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<Step> program = random_program(seed, 40);
    const std::vector<Tensor> leaves = make_leaves();
    const Tensor out = run_program(program, leaves);
    std::atomic<int> wrong{0};
    on_threads(8, [&](uint32_t) {
      wrong += gradients_by_engine(out, leaves) != expected_gradients(program);
    });
    ASSERT_EQ(wrong, 0) << seed;
  }
}

TEST(RandomGraphs, LoseNoGradientOfLeavesThatAllThreadsShare) {
  const std::vector<Tensor> leaves = make_leaves();
  std::vector<double> expected(kLeaves);
  for (uint32_t thread = 0; thread < 8; ++thread) {
    const std::vector<double> grads = expected_gradients(random_program(thread, 30));
    for (size_t leaf = 0; leaf < kLeaves; ++leaf) expected[leaf] += 100 * grads[leaf];
  }
  on_threads(8, [&](uint32_t thread) {
    const std::vector<Step> program = random_program(thread, 30);
    for (int round = 0; round < 100; ++round) backward(run_program(program, leaves));
  });
  for (size_t leaf = 0; leaf < kLeaves; ++leaf) {
    const Tensor grad = grad_of(leaves[leaf]);
    EXPECT_EQ(grad.defined() ? grad.item<double>() : 0.0, expected[leaf]) << leaf;
  }
}

}  // namespace
}  // namespace ebb
