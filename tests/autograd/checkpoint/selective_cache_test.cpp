// tests/autograd/checkpoint/selective_cache_test.cpp -- checkpointed functions that keep chosen
// results.
#include "ebb/autograd/checkpoint/selective_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "ebb/autograd/checkpoint/checkpoint.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

CheckpointPolicyFunction saves(const std::string& op) {
  return [op](const autograd::OpCall& call, bool) {
    return call.name == op ? CheckpointPolicy::must_save : CheckpointPolicy::prefer_recompute;
  };
}

/// Counts calls that really ran, by name.
class Counter final : public autograd::OpObserver {
 public:
  explicit Counter(std::string op) : op_(std::move(op)) {}
  void see(const autograd::OpCall& call, std::span<const Tensor>) override {
    count += call.name == op_;
  }
  int count = 0;

 private:
  std::string op_;
};

TEST(SelectiveCache, GivesTheGradientsOfThePlainCall) {
  const Tensor x = leaf({1, 2}), again = leaf({1, 2});
  const auto function = [](const Tensor& input) { return sin(exp(sin(input))); };
  backward(sum(checkpoint(function, x, {}, saves("exp"))));
  backward(sum(function(again)));
  EXPECT_EQ(floats(grad_of(x)), floats(grad_of(again)));
}

TEST(SelectiveCache, KeepsNothingOfViewsAndWrites) {
  const auto cache = std::make_shared<autograd::SelectiveCache>(
      [](const autograd::OpCall&, bool) { return CheckpointPolicy::must_save; });
  const Tensor x = leaf({1, 2});
  const autograd::OpObserverGuard keeper(cache->keeper());
  const int64_t sizes[] = {2, 1};
  const Tensor viewed = reshape(x, sizes);
  EXPECT_EQ(cache->bytes(), 0u);
  const Tensor y = exp(x);
  EXPECT_EQ(cache->bytes(), 8u);
  exp_(y);
  EXPECT_EQ(cache->bytes(), 8u);
}

TEST(OpObserver, SeesEachOpOnceWhileItIsInstalled) {
  const auto counter = std::make_shared<Counter>("exp");
  const Tensor x = leaf({1});
  {
    const autograd::OpObserverGuard guard(counter);
    backward(exp(sin(exp(x))));  // the backward pass, which multiplies, is not observed
    exp_(exp(vector_of<float>({1})));
  }
  exp(x);
  EXPECT_EQ(counter->count, 3);
}

TEST(OpObserver, LeavesThoseOutsideInPlace) {
  const auto outer = std::make_shared<Counter>("sin"), inner = std::make_shared<Counter>("sin");
  const Tensor x = leaf({1});
  const autograd::OpObserverGuard outside(outer);
  {
    const autograd::OpObserverGuard inside(inner);
    sin(x);
  }
  sin(x);
  EXPECT_EQ(outer->count, 2);
  EXPECT_EQ(inner->count, 1);
}

TEST(OpLog, ShowsTheOpsOfBothCallsWhereTheyDiffer) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  const auto function = [&calls](const Tensor& input) {
    const Tensor y = sin(input);
    return ++calls == 1 ? exp(y) : exp(sum(y));
  };
  const Tensor y = checkpoint(function, x, {.compares_ops = true});
  try {
    backward(sum(y));
    FAIL() << "the calls differ";
  } catch (const AutogradError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("exp -> float32 [2] at "), std::string::npos) << text;
    EXPECT_NE(text.find("| sum -> float32 [] at "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace ebb
