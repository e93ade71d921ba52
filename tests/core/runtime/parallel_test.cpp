// tests/core/runtime/parallel_test.cpp -- parallel_for: its pieces, its exceptions, its
// independence of the number of threads.
#include "ebb/core/runtime/parallel.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

/// Sets the number of threads for the length of a test.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

TEST(ParallelFor, CutsTheRangeIntoPiecesOfTheGrain) {
  const Threads threads(4);
  std::vector<std::pair<int64_t, int64_t>> pieces(4);
  parallel_for(10, 3, [&](int64_t begin, int64_t end) {
    pieces[static_cast<size_t>(begin / 3)] = {begin, end};
  });
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 3}, {3, 6}, {6, 9}, {9, 10}};
  EXPECT_EQ(pieces, expected);
}

TEST(ParallelFor, RunsEachItemOnceForAnyNumberOfThreads) {
  for (int count = 1; count <= 8; ++count) {
    const Threads threads(count);
    std::vector<int> visits(1001);
    parallel_for(1001, 7, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) ++visits[static_cast<size_t>(item)];
    });
    EXPECT_EQ(visits, std::vector<int>(1001, 1)) << count;
  }
}

TEST(ParallelFor, DoesNothingForAnEmptyRange) {
  parallel_for(0, 10, [](int64_t, int64_t) { FAIL(); });
  parallel_for(-5, 10, [](int64_t, int64_t) { FAIL(); });
}

TEST(ParallelFor, RunsASmallRangeOnTheCaller) {
  const std::thread::id caller = std::this_thread::get_id();
  parallel_for(10, 10, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(ParallelFor, RethrowsTheExceptionOfTheFirstPieceInOrder) {
  const Threads threads(4);
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::string text = error_of<ValueError>([] {
      parallel_for(16, 1, [](int64_t begin, int64_t) {
        if (begin >= 5) throw ValueError(str("piece ", begin));
      });
    });
    ASSERT_EQ(text, "piece 5");
  }
}

TEST(ParallelFor, WorksAfterAnException) {
  const Threads threads(4);
  EXPECT_THROW(parallel_for(8, 1, [](int64_t, int64_t) { throw ValueError("stop"); }), ValueError);
  std::atomic<int> pieces = 0;
  parallel_for(8, 1, [&](int64_t, int64_t) { ++pieces; });
  EXPECT_EQ(pieces, 8);
}

TEST(ParallelFor, RunsInlineInsideAPiece) {
  const Threads threads(4);
  std::atomic<int> items = 0;
  std::atomic<int> strays = 0;
  parallel_for(8, 1, [&](int64_t, int64_t) {
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(8, 1, [&](int64_t, int64_t) {
      ++items;
      if (std::this_thread::get_id() != outer) ++strays;
    });
  });
  EXPECT_EQ(items, 64);
  EXPECT_EQ(strays, 0);
}

TEST(ParallelFor, ServesSeveralCallersAtOnce) {
  const Threads threads(3);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&total] {
      for (int call = 0; call < 200; ++call) {
        parallel_for(40, 4, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 200 * 40);
}

double process_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

TEST(ParallelFor, LeavesTheCoresAloneAfterwards) {
  const Threads threads(2);
  parallel_for(8, 1, [](int64_t, int64_t) {});
  const double before = process_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(process_seconds() - before, 0.1);  // a worker that never slept would take 0.2
}

TEST(ParallelFor, FindsItsWorkersAwakeOrAsleep) {
  const Threads threads(2);
  for (int call = 0; call < 300; ++call) {
    std::atomic<int64_t> items = 0;
    parallel_for(64, 1, [&](int64_t begin, int64_t end) { items += end - begin; });
    ASSERT_EQ(items, 64);
    // Now and then, so long that the workers have gone to sleep, or are just about to.
    if (call % 3 != 0) std::this_thread::sleep_for(std::chrono::microseconds(call % 100));
  }
}

/// A sum whose result depends on how it is cut, were the cuts to depend on the threads.
float sum_in_pieces(const std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<float> sums(static_cast<size_t>((count - 1) / 1000 + 1));
  parallel_for(count, 1000, [&](int64_t begin, int64_t end) {
    float sum = 0;
    for (int64_t item = begin; item < end; ++item) sum += values[static_cast<size_t>(item)];
    sums[static_cast<size_t>(begin / 1000)] = sum;
  });
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

TEST(ParallelFor, GivesBitwiseTheSameForAnyNumberOfThreads) {
  std::vector<float> values(100'003);
  for (size_t index = 0; index < values.size(); ++index) {
    values[index] = 1.0f / static_cast<float>(index + 1);
  }
  const float expected = sum_in_pieces(values);
  for (int count = 1; count <= 8; ++count) {
    const Threads threads(count);
    for (int run = 0; run < 5; ++run) ASSERT_EQ(sum_in_pieces(values), expected) << count;
  }
}

TEST(NumThreads, IsAtLeastOneAndCanBeSet) {
  EXPECT_GE(num_threads(), 1);
  const Threads threads(3);
  EXPECT_EQ(num_threads(), 3);
}

TEST(NumThreads, RefusesCountsOutOfRange) {
  EXPECT_EQ(error_of<ValueError>([] { set_num_threads(0); }),
            "set_num_threads: needs from 1 to 1024 threads, got 0");
  EXPECT_EQ(error_of<ValueError>([] { set_num_threads(1025); }),
            "set_num_threads: needs from 1 to 1024 threads, got 1025");
  EXPECT_THROW(set_num_threads(int64_t{1} << 40), ValueError);
}

}  // namespace
}  // namespace ebb
