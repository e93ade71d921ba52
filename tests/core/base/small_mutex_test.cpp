// tests/core/base/small_mutex_test.cpp -- a mutex of four bytes.
#include "ebb/core/base/small_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace ebb {
namespace {

static_assert(sizeof(SmallMutex) == 4);

TEST(SmallMutex, LetsOneThreadInAtATime) {
  SmallMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int step = 0; step < 20'000; ++step) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000);
}

TEST(SmallMutex, TakenBeforeTheFirstThreadIsStillHeldAgainstIt) {
  SmallMutex mutex;
  std::atomic<bool> has_entered{false};
  std::thread other;
  {
    const std::lock_guard lock(mutex);
    other = std::thread([&] {
      const std::lock_guard inner(mutex);
      has_entered = true;
    });
    for (int step = 0; step < 100; ++step) {
      EXPECT_FALSE(has_entered);
      std::this_thread::yield();
    }
  }
  other.join();  // would wait for ever if nobody woke it
  EXPECT_TRUE(has_entered);
}

}  // namespace
}  // namespace ebb
