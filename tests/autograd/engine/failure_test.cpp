// tests/autograd/engine/failure_test.cpp -- a run that fails: what it leaves behind, and what it
// says.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/log_softmax.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

Tensor throw_value_error(const Tensor&) { throw ValueError("rule: a failure made by the test"); }

TEST(Failure, ReachesTheCallerWithItsTypeAndTheForwardLine) {
  const Tensor x = leaf({1});
  const std::string text = error_of<ValueError>([&] { backward(with_rule(x, throw_value_error)); });
  EXPECT_EQ(text.find("rule: a failure made by the test"), 0u);
  EXPECT_NE(text.find("in RuleBackward, recorded at"), std::string::npos);
}

TEST(Failure, PassesForeignExceptionsOn) {
  const Tensor x = leaf({1});
  const auto rule = [](const Tensor&) -> Tensor { throw std::out_of_range("foreign"); };
  EXPECT_THROW(backward(with_rule(x, rule)), std::out_of_range);
}

TEST(Failure, LeavesALeafWithoutGradientWithoutOne) {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  // y's gradient is complete before the failing rule runs, since y is used last.
  EXPECT_THROW(backward(with_rule(x, throw_value_error) * 1.0 + y), ValueError);
  EXPECT_FALSE(grad_of(x).defined());
  EXPECT_FALSE(grad_of(y).defined());
}

TEST(Failure, LeavesALeafWithAGradientAsItWas) {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  backward(y * 2);
  EXPECT_THROW(backward(with_rule(x, throw_value_error) * 1.0 + y), ValueError);
  EXPECT_EQ(floats(grad_of(y)), Floats{2});
}

TEST(Failure, LeavesTheEngineUsable) {
  const Tensor x = leaf({1});
  const Tensor shared = x * 2;
  EXPECT_THROW(backward(with_rule(shared, throw_value_error) + shared), ValueError);
  backward(shared * 3);
  EXPECT_EQ(floats(grad_of(x)), Floats{6});
}

TEST(Failure, CanBeRetriedIfTheGraphIsRetained) {
  const Tensor x = leaf({1});
  bool fails = true;
  const Tensor y = with_rule(x * x, [&](const Tensor& grad) {
    if (fails) throw ValueError("once");
    return grad;
  });
  const Tensor z = y * y;
  EXPECT_THROW(backward(z, {}, {.retain_graph = true}), ValueError);
  fails = false;
  backward(z);
  EXPECT_EQ(floats(grad_of(x)), Floats{4});
}

TEST(Failure, NamesTheNodeWhoseGradientHasTheWrongShape) {
  const Tensor x = leaf({1, 2});
  const auto rule = [](const Tensor&) { return vector_of<float>({1, 2, 3}); };
  const std::string text = error_of<ShapeError>([&] { backward(sum(with_rule(x, rule))); });
  EXPECT_EQ(text.find("RuleBackward: the gradient of input 0 must have shape [2], got [3]"), 0u)
      << text;
}

/// One training step of a tiny network; returns its loss.
float train_once(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor hidden = tanh(matmul(input, weight) + bias);
  const Tensor loss = mean(hidden * hidden + log_softmax(hidden, 1));
  backward(loss);
  return loss.item<float>();
}

TEST(Failure, LeavesNothingBehindWhenAnyAllocationFails) {
  const Tensor input = count_up(Shape{3, 4});
  const Tensor weight = requires_grad_(full(Shape{4, 2}, 0.1));
  const Tensor bias = requires_grad_(zeros(Shape{2}));
  const float expected = train_once(input, weight, bias);
  const std::vector<float> expected_grad = floats(grad_of(weight));
  set_grad(weight, {});
  set_grad(bias, {});
  const int64_t live = memory_stats().live;
  int64_t failures = 0;
  for (bool succeeded = false; !succeeded; failures += succeeded ? 0 : 1) {
    fail_allocation_after(failures);
    try {
      EXPECT_EQ(train_once(input, weight, bias), expected);
      succeeded = true;
    } catch (const OutOfMemoryError&) {
      EXPECT_FALSE(grad_of(weight).defined() || grad_of(bias).defined()) << failures;
    }
    fail_allocation_after(-1);
    ASSERT_LT(failures, 1000);
  }
  EXPECT_GT(failures, 20);  // one per allocation of the step
  EXPECT_EQ(floats(grad_of(weight)), expected_grad);
  set_grad(weight, {});
  set_grad(bias, {});
  EXPECT_EQ(memory_stats().live, live);
}

/// Backward to leaves that have gradients, with the next allocation to fail, then the one after
/// that, and so on. Each run must add to all leaves or to none.
void fail_atomic_runs(bool create_graph, int least_failures) {
  const AtomicAccumulation atomic;
  const std::vector<Tensor> leaves{leaf({1, 2}), leaf({3, 4}), leaf({5, 6})};
  for (const Tensor& x : leaves) set_grad(x, vector_of<float>({10, 20}));
  int failures = 0;
  for (bool succeeded = false; !succeeded; failures += succeeded ? 0 : 1) {
    const Tensor out = sum(leaves[0] * leaves[1] * leaves[2]);
    fail_allocation_after(failures);
    try {
      backward(out, {}, {.create_graph = create_graph});
      succeeded = true;
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(std::string(error.what()).find("already added"), std::string::npos);
    }
    fail_allocation_after(-1);
    ASSERT_LT(failures, 1000);
    const Floats first = succeeded ? Floats{25, 44} : Floats{10, 20};
    EXPECT_EQ(floats(grad_of(leaves[0])), first) << failures;
    const Floats last = succeeded ? Floats{13, 28} : Floats{10, 20};
    EXPECT_EQ(floats(grad_of(leaves[2])), last) << failures;
  }
  EXPECT_GT(failures, least_failures);
}

TEST(Failure, AtomicRunsAddToAllLeavesOrToNone) { fail_atomic_runs(false, 5); }

TEST(Failure, AtomicRunsThatAreRecordedAddToAllLeavesOrToNone) { fail_atomic_runs(true, 10); }

/// Backward to two interior tensors and a leaf, with the next allocation to fail, then the one
/// after that, and so on. Each call must add to all three or to none.
void fail_calls_to_inputs(bool has_grads) {
  const AtomicAccumulation atomic;
  const Tensor x = leaf({1, 2});
  int failures = 0;
  for (bool succeeded = false; !succeeded; failures += succeeded ? 0 : 1) {
    const Tensor y = x * 2, z = y * y;
    const std::vector<Tensor> inputs{y, x, z};
    for (const Tensor& input : inputs) {
      set_grad(input, has_grads ? vector_of<float>({100, 100}) : Tensor());
    }
    const Tensor out = sum(z * 3);
    fail_allocation_after(failures);
    try {
      backward(out, {}, {.inputs = inputs});
      succeeded = true;
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(std::string(error.what()).find("already added"), std::string::npos);
    }
    fail_allocation_after(-1);
    ASSERT_LT(failures, 1000);
    const float start = has_grads ? 100 : 0;
    for (const Tensor& input : inputs) {
      EXPECT_EQ(grad_of(input).defined(), has_grads || succeeded) << failures;
    }
    if (has_grads && !succeeded) {
      for (const Tensor& input : inputs) EXPECT_EQ(floats(grad_of(input)), (Floats{100, 100}));
    }
    if (!succeeded) continue;
    EXPECT_EQ(floats(grad_of(y)), (Floats{start + 12, start + 24}));
    EXPECT_EQ(floats(grad_of(x)), (Floats{start + 24, start + 48}));
    EXPECT_EQ(floats(grad_of(z)), (Floats{start + 3, start + 3}));
  }
  EXPECT_GT(failures, 4);
}

TEST(Failure, CallsToInteriorInputsAddToAllInputsOrToNone) { fail_calls_to_inputs(false); }

TEST(Failure, CallsToInteriorInputsWithGradientsAddToAllOrToNone) { fail_calls_to_inputs(true); }

TEST(Failure, AnAtomicRunKeepsWhatOthersAddMeanwhile) {
  const AtomicAccumulation atomic;
  const Tensor x = leaf({1});
  set_grad(x, vector_of<float>({10}));
  on_threads(4, [&](int) {
    const AtomicAccumulation own;
    for (int run = 0; run < 200; ++run) backward(x * 2.0, {}, {.create_graph = true});
  });
  EXPECT_EQ(floats(grad_of(x)), Floats{10 + 2 * 4 * 200});
  set_grad(x, {});
}

}  // namespace
}  // namespace ebb
