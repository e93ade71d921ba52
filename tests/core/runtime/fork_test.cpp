// tests/core/runtime/fork_test.cpp -- a forked child allocates, notes locations and runs
// parallel_for, even if other threads of its parent held locks at that moment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "ebb/core/base/location.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "tests/core/core_test_support.h"
#include "tests/sanitizers.h"

namespace ebb {
namespace {

constexpr int kForks = 50;

/// The exit status of a child that runs `body`, which says whether all went well; -1 if it hangs.
template <typename Body>
int status_of_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs on a lock is killed
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool parallel_sum_is_right() {
  std::atomic<int64_t> sum = 0;
  parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) sum += item;
  });
  return sum == 499'500;
}

class Fork : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kHasThreadSanitizer) {
      GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a process with threads";
    }
    before_ = num_threads();
    set_num_threads(3);
  }
  void TearDown() override {
    if (before_ > 0) set_num_threads(before_);
  }

 private:
  int before_ = 0;
};

TEST_F(Fork, GivesTheChildAThreadPoolOfItsOwn) {
  ASSERT_TRUE(parallel_sum_is_right());
  for (int attempt = 0; attempt < kForks; ++attempt) {
    ASSERT_EQ(status_of_child(parallel_sum_is_right), 0) << attempt;
  }
  EXPECT_TRUE(parallel_sum_is_right());
}

TEST_F(Fork, GivesAChildOfAChildOneToo) {
  const auto fork_again = [] {
    return parallel_sum_is_right() && status_of_child(parallel_sum_is_right) == 0;
  };
  EXPECT_EQ(status_of_child(fork_again), 0);
}

bool everything_with_a_lock_works() {
  static_cast<void>(memory_stats());
  std::vector<void*> blocks;
  for (size_t count = 0; count < 2000; ++count) blocks.push_back(allocate(count % 4000 + 1));
  for (size_t count = 0; count < 2000; ++count) deallocate(blocks[count], count % 4000 + 1);
  const uintptr_t unseen = uintptr_t{1} << 40;
  const bool has_location = intern_location(unseen, 0, false) != 0;
  default_generator().reserve(1);
  return has_location && parallel_sum_is_right();
}

TEST_F(Fork, LeavesNoLockHeldInTheChild) {
  if (kCachesAreBypassed) GTEST_SKIP() << "a sanitizer's own malloc may be locked in the child";
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (uintptr_t thread = 0; thread < 3; ++thread) {
    busy.emplace_back([&stop, thread] {
      for (uintptr_t step = 1; !stop; ++step) {
        static_cast<void>(memory_stats());
        deallocate(allocate(step % 100'000 + 1), step % 100'000 + 1);
        intern_location(step % 1000, thread + 1, false);
        default_generator().reserve(1);
      }
    });
  }
  int failed = 0;
  for (int attempt = 0; attempt < kForks; ++attempt) {
    failed += int{status_of_child(everything_with_a_lock_works) != 0};
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace ebb
