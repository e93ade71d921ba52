// tests/autograd/history/modes_test.cpp -- grad mode, inference mode, and carrying both to another
// thread.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "ebb/autograd/history/thread_modes.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::ThreadModes;
using autograd::ThreadModesScope;

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

TEST(Modes, CarriesThePlaceNowRunning) {
  const ThreadModesScope location_scope(ThreadModes::current());
  thread_state.location = 17;
  const ThreadModes carried = ThreadModes::current();
  thread_state.location = 0;
  const ThreadModesScope scope(carried);
  EXPECT_EQ(thread_state.location, 17u);
}

}  // namespace
}  // namespace ebb
