// tests/core/runtime/allocator_test.cpp -- blocks: alignment, classes, threads, counts, failure on
// demand.
//
// Sanitizer builds take every block from the C library: tests that watch the caches are skipped
// there, all others run.
#include "ebb/core/runtime/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/runtime/size_class.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// Every size up to 2 KiB, then a few around each power of two up to 8 MiB.
std::vector<size_t> many_sizes() {
  std::vector<size_t> sizes;
  for (size_t bytes = 1; bytes <= 2048; ++bytes) sizes.push_back(bytes);
  for (size_t base = 4096; base <= 8 * kMiB; base *= 2) {
    for (const size_t bytes : {base - 1, base, base + 1, base + base / 3}) sizes.push_back(bytes);
  }
  return sizes;
}

bool is_aligned(const void* block, size_t alignment) {
  return reinterpret_cast<uintptr_t>(block) % alignment == 0;
}

TEST(Allocator, ServesARequestForNothing) {
  void* const first = allocate(0);
  void* const second = allocate(0);
  EXPECT_NE(first, second);
  deallocate(first, 0);
  deallocate(second, 0);
}

TEST(Allocator, AlignsBlocksAsPromised) {
  for (const size_t bytes : many_sizes()) {
    void* const block = allocate(bytes);
    const bool is_line = bytes % 64 == 0 || bytes > 1024;
    EXPECT_TRUE(is_aligned(block, is_line ? 64 : 16)) << bytes;
    deallocate(block, bytes);
  }
}

TEST(Allocator, HandsOutBlocksThatDoNotOverlap) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (const size_t bytes : many_sizes()) {
    blocks.emplace_back(allocate(bytes), bytes);
    std::memset(blocks.back().first, static_cast<int>(blocks.size() % 251), bytes);
  }
  for (size_t index = 0; index < blocks.size(); ++index) {
    const auto* const bytes = static_cast<unsigned char*>(blocks[index].first);
    const auto expected = static_cast<unsigned char>((index + 1) % 251);
    ASSERT_EQ(bytes[0], expected);
    ASSERT_EQ(bytes[blocks[index].second - 1], expected);
  }
  for (const auto& [block, bytes] : blocks) deallocate(block, bytes);
}

TEST(Allocator, CountsLiveBytesBackToTheStart) {
  const int64_t before = memory_stats().live;
  for (const size_t bytes : many_sizes()) {
    void* const block = allocate(bytes);
    ASSERT_GE(memory_stats().live, before + static_cast<int64_t>(bytes)) << bytes;
    deallocate(block, bytes);
    ASSERT_EQ(memory_stats().live, before) << bytes;
  }
}

TEST(Allocator, NoticesThePeakOfLargeBlocks) {
  reset_peak_memory();
  const int64_t before = memory_stats().live;
  deallocate(allocate(8 * kMiB), 8 * kMiB);
  EXPECT_GE(memory_stats().peak, before + static_cast<int64_t>(8 * kMiB));
  reset_peak_memory();
  EXPECT_LT(memory_stats().peak, before + static_cast<int64_t>(8 * kMiB));
}

TEST(Allocator, SaysWhatWasAskedForWhenMemoryRunsOut) {
  const std::string text = error_of<OutOfMemoryError>([] { allocate(size_t{1} << 60); });
  EXPECT_EQ(text.find("allocate: needs 1152921504606846976 bytes, which the system did not give "
                      "(live "),
            0u);
  EXPECT_NE(text.find(", peak "), std::string::npos);
}

TEST(Allocator, ReusesABlockThatWasJustFreed) {
  if (kCachesAreBypassed) GTEST_SKIP() << "no free lists in a sanitizer build";
  for (const size_t bytes : {size_t{64}, size_t{1000}, size_t{5000}, 2 * kMiB}) {
    void* const first = allocate(bytes);
    deallocate(first, bytes);
    void* const second = allocate(bytes);
    EXPECT_EQ(first, second) << bytes;
    deallocate(second, bytes);
  }
}

TEST(Allocator, ReturnsLargeBlocksToTheSystemOnRequest) {
  if (kCachesAreBypassed) GTEST_SKIP() << "nothing is kept in a sanitizer build";
  release_cached_memory();
  const int64_t before = memory_stats().reserved;
  deallocate(allocate(64 * kMiB), 64 * kMiB);
  EXPECT_GE(memory_stats().reserved, before + static_cast<int64_t>(64 * kMiB));
  release_cached_memory();
  EXPECT_EQ(memory_stats().reserved, before);
}

TEST(Allocator, KeepsNoMoreThanWasEverInUse) {
  if (kCachesAreBypassed) GTEST_SKIP() << "nothing is kept in a sanitizer build";
  release_cached_memory();
  const int64_t before = memory_stats().reserved;
  // Ever new sizes: each would be kept, were it not for the bound.
  for (size_t step = 0; step < 64; ++step) {
    const size_t bytes = (16 + step) * kMiB;
    deallocate(allocate(bytes), bytes);
  }
  EXPECT_LE(memory_stats().reserved - before, static_cast<int64_t>(80 * kMiB));
  release_cached_memory();
}

TEST(Allocator, KeepsTheSizesInUseRatherThanThoseOfThePast) {
  if (kCachesAreBypassed) GTEST_SKIP() << "nothing is kept in a sanitizer build";
  release_cached_memory();
  deallocate(allocate(64 * kMiB), 64 * kMiB);
  void* const first = allocate(8 * kMiB);
  deallocate(first, 8 * kMiB);
  const int64_t reserved = memory_stats().reserved;
  void* const second = allocate(8 * kMiB);
  EXPECT_EQ(memory_stats().reserved, reserved);  // nothing was mapped anew
  deallocate(second, 8 * kMiB);
  release_cached_memory();
}

TEST(Allocator, WastesAtMostAQuarterOfABlock) {
  for (size_t bytes = 1024; bytes <= detail::kCachedLimit; bytes += 999) {
    const size_t served = detail::class_bytes(detail::class_of(bytes));
    ASSERT_GE(served, bytes);
    ASSERT_LE(served - bytes, bytes / 4) << bytes;
  }
}

TEST(Allocator, WastesAtMostAnEighthOfALargeBlock) {
  for (size_t bytes = detail::kCachedLimit + 1; bytes <= 100 * kMiB; bytes += 999'999) {
    const size_t served = detail::large_bytes(bytes);
    ASSERT_GE(served, bytes);
    ASSERT_LE(served - bytes, bytes / 8) << bytes;
    ASSERT_EQ(served % 4096, 0u) << bytes;
  }
}

TEST(Allocator, TakesBlocksBackOnAnotherThread) {
  const int64_t before = memory_stats().live;
  std::vector<void*> blocks;
  for (int count = 0; count < 5000; ++count) blocks.push_back(allocate(96));
  std::thread([&blocks] {
    for (void* block : blocks) deallocate(block, 96);
  }).join();
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Allocator, LosesNothingWhenThreadsEnd) {
  const int64_t before = memory_stats().live;
  std::vector<std::vector<void*>> made(8);
  for (auto& blocks : made) {
    std::thread([&blocks] {
      for (int count = 0; count < 300; ++count) blocks.push_back(allocate(200));
    }).join();
  }
  for (auto& blocks : made) {
    for (void* block : blocks) deallocate(block, 200);
  }
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Allocator, ReusesWhatEndedThreadsLeft) {
  if (kCachesAreBypassed) GTEST_SKIP() << "nothing is kept in a sanitizer build";
  const auto churn = [] {
    std::vector<void*> blocks;
    for (int count = 0; count < 1000; ++count) blocks.push_back(allocate(4000));
    for (void* block : blocks) deallocate(block, 4000);
  };
  std::thread(churn).join();
  const int64_t reserved = memory_stats().reserved;
  for (int thread = 0; thread < 50; ++thread) std::thread(churn).join();
  EXPECT_EQ(memory_stats().reserved, reserved);
}

TEST(Allocator, ServesDestructorsThatRunAfterItsOwn) {
  struct AtThreadEnd {
    void* early = nullptr;
    ~AtThreadEnd() {
      deallocate(early, 64);
      deallocate(allocate(128), 128);
    }
  };
  const int64_t before = memory_stats().live;
  std::thread([] {
    // Made before the thread's heap, so destroyed after it.
    thread_local AtThreadEnd at_end;
    at_end.early = allocate(64);
  }).join();
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Allocator, TradesBlocksBetweenThreadsAtOnce) {
  const int64_t before = memory_stats().live;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      std::vector<std::pair<void*, size_t>> held;
      for (size_t step = 0; step < 20'000; ++step) {
        const size_t bytes = (step * 37 + static_cast<size_t>(thread) * 11) % 3000 + 1;
        held.emplace_back(allocate(bytes), bytes);
        static_cast<char*>(held.back().first)[bytes - 1] = 1;
        if (held.size() < 200) continue;
        for (const auto& [block, size] : held) deallocate(block, size);
        held.clear();
      }
      for (const auto& [block, size] : held) deallocate(block, size);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_stats().live, before);
}

TEST(FailureInjection, FailsTheAllocationAskedForAndNoOther) {
  fail_allocation_after(2);
  void* const first = allocate(32);
  void* const second = allocate(5000);
  EXPECT_THROW(allocate(32), OutOfMemoryError);
  void* const third = allocate(32);
  fail_allocation_after(-1);
  deallocate(first, 32);
  deallocate(second, 5000);
  deallocate(third, 32);
}

TEST(FailureInjection, FailsAllLaterOnesIfPersistent) {
  fail_allocation_after(0, true);
  EXPECT_THROW(allocate(32), OutOfMemoryError);
  EXPECT_THROW(allocate(32), OutOfMemoryError);
  fail_allocation_after(-1);
  deallocate(allocate(32), 32);
}

TEST(FailureInjection, CountsAllocationsWhileArmed) {
  fail_allocation_after(1000);
  const int64_t before = allocation_count();
  deallocate(allocate(32), 32);
  deallocate(allocate(2 * kMiB), 2 * kMiB);
  EXPECT_EQ(allocation_count(), before + 2);
  fail_allocation_after(-1);
}

TEST(Scratch, LivesAsLongAsItsScope) {
  const int64_t before = memory_stats().live;
  {
    const Scratch scratch(100 * sizeof(double));
    scratch.as<double>()[99] = 1.0;
    EXPECT_GT(memory_stats().live, before);
  }
  EXPECT_EQ(memory_stats().live, before);
}

}  // namespace
}  // namespace ebb
