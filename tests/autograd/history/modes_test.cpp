// tests/autograd/history/modes_test.cpp -- grad mode, inference mode, and carrying both to another
// thread.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "ebb/autograd/history/thread_modes.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::ThreadModes;
using autograd::ThreadModesScope;

TEST(Modes, PutsGradModeBackWhenAScopeIsLeftByAnException) {
  try {
    const NoGradGuard guard;
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(is_grad_enabled());
}

TEST(Modes, CarriesAllModesToAnotherThread) {
  ThreadModes carried;
  {
    const InferenceModeGuard guard;
    carried = ThreadModes::current();
  }
  bool was_fresh = false, was_inference = false, was_put_back = false;
  std::thread([&] {
    was_fresh = is_grad_enabled() && !is_inference_mode_enabled();
    {
      const ThreadModesScope scope(carried);
      was_inference = is_inference_mode_enabled() && !is_grad_enabled();
    }
    was_put_back = is_grad_enabled() && !is_inference_mode_enabled();
  }).join();
  EXPECT_TRUE(was_fresh);
  EXPECT_TRUE(was_inference);
  EXPECT_TRUE(was_put_back);
}

TEST(Modes, ChangesOnlyTheGradModeOfCarriedModes) {
  const ThreadModesScope location_scope(ThreadModes::current());
  thread_state.location = 17;
  const ThreadModes carried = ThreadModes::current().with_grad(false);
  thread_state.location = 0;
  const ThreadModesScope scope(carried);
  EXPECT_FALSE(is_grad_enabled());
  EXPECT_EQ(thread_state.location, 17u);
}

TEST(Modes, RecordsNothingInInferenceModeEvenUnderEnableGrad) {
  const Tensor x = leaf({1, 2});
  const InferenceModeGuard guard;
  const EnableGradGuard inner;
  const Tensor y = x * 2;
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(is_inference(y));
}

TEST(Modes, MarksEverythingMadeInInferenceModeAndNothingElse) {
  const Tensor before = ones(Shape{2});
  Tensor inside, view_inside;
  {
    const InferenceModeGuard guard;
    inside = zeros(Shape{2});
    view_inside = reshape(before, Shape{1, 2});
  }
  EXPECT_FALSE(is_inference(before));
  EXPECT_TRUE(is_inference(inside));
  EXPECT_FALSE(is_inference(view_inside));
  EXPECT_TRUE(is_inference(reshape(inside, Shape{1, 2})));
  EXPECT_FALSE(is_inference(clone(inside)));
}

TEST(Modes, RecordsInsideInferenceModeOnceItIsTurnedOff) {
  const Tensor x = leaf({1, 2});
  const InferenceModeGuard outer;
  {
    const InferenceModeGuard inner(false);
    EXPECT_TRUE((x * 2).requires_grad());
  }
  EXPECT_TRUE(is_inference_mode_enabled());
}

}  // namespace
}  // namespace ebb
