// tests/autograd/engine/device_worker_test.cpp -- what workers of devices take over from callers.
#include "ebb/autograd/engine/device_worker.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <latch>

namespace ebb::autograd {
namespace {

/// Notes how the thread rounds that does it.
class Rounding final : public DeviceJob {
 public:
  void work() noexcept override {
    seen_ = std::fegetround();
    is_done_.count_down();
  }
  int seen() {
    is_done_.wait();
    return seen_;
  }

 private:
  int seen_ = -1;
  std::latch is_done_{1};
};

TEST(DeviceWorker, RoundsAsTheThreadThatMadeTheJob) {
  for (const int mode : {FE_DOWNWARD, FE_UPWARD, FE_TONEAREST}) {
    std::fesetround(mode);
    Rounding job;
    std::fesetround(FE_TONEAREST);
    ASSERT_TRUE(post_to_worker(Device{DeviceType::cuda, 0}, job));
    EXPECT_EQ(job.seen(), mode);
  }
}

}  // namespace
}  // namespace ebb::autograd
