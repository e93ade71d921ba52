// tests/core/runtime/profile_test.cpp -- ranges: kinds, nesting, threads, and profiles that stop in
// between.
#include "ebb/core/runtime/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "ebb/core/base/error.h"
#include "ebb/core/base/scope.h"
#include "ebb/core/runtime/allocator.h"

namespace ebb {
namespace {

TEST(Profile, NotesRangesInTheOrderInWhichTheyEnd) {
  start_profile();
  {
    const UserRange outer("outer");
    const OpRange op("op", 0, 0, 7);
    const OpRange inner("inner", 0);
  }
  const ProfileReport report = stop_profile();
  ASSERT_EQ(report.threads.size(), 1u);
  const auto& ranges = report.threads[0].ranges;
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_STREQ(ranges[0].name, "inner");
  EXPECT_EQ(ranges[0].kind, RangeKind::inner);
  EXPECT_EQ(ranges[1].kind, RangeKind::op);
  EXPECT_EQ(ranges[1].sequence, 7u);
  EXPECT_TRUE(ranges[1].is_backward);
  EXPECT_EQ(ranges[2].kind, RangeKind::user);
  EXPECT_LE(ranges[2].start, ranges[1].start);
  EXPECT_LE(ranges[1].end, ranges[2].end);
  EXPECT_LE(report.start, ranges[2].start);
  EXPECT_LE(ranges[2].end, report.end);
  EXPECT_GT(report.ns_per_tick, 0);
  EXPECT_EQ(report.lost, 0u);
}

TEST(Profile, ThreadsWithTheModeWriteToTheirOwnPart) {
  start_profile();
  std::thread helper([] {
    const ModeScope mode(gate::kProfiler, 0);
    const OpRange op("helper", 0);
  });
  helper.join();
  { const OpRange op("own", 0); }
  const ProfileReport report = stop_profile();
  ASSERT_EQ(report.threads.size(), 2u);
  EXPECT_NE(report.threads[0].thread, report.threads[1].thread);
}

TEST(Profile, AThreadThatStillHasTheModeWritesNowhere) {
  const ModeScope mode(gate::kProfiler, 0);
  { const OpRange op("before", 0); }
  start_profile();
  {
    const OpRange open("stopped inside", 0);
    EXPECT_EQ(stop_profile().threads.size(), 1u);
  }
  thread_state.modes |= gate::kProfiler;
  { const OpRange op("after", 0); }
  start_profile();
  EXPECT_TRUE(stop_profile().threads.empty());
}

TEST(Profile, RefusesASecondOneAndAForeignStop) {
  EXPECT_THROW(stop_profile(), ValueError);
  start_profile();
  EXPECT_THROW(start_profile(), ValueError);
  std::thread([] { EXPECT_THROW(stop_profile(), ValueError); }).join();
  stop_profile();
  EXPECT_FALSE(is_profiling());
}

TEST(Profile, UserRangesMayBeUnbalanced) {
  start_profile();
  close_user_range();
  open_user_range("left open");
  EXPECT_TRUE(stop_profile().threads.at(0).ranges.empty());
  close_user_range();
}

TEST(Profile, RangesInsideANodeBelongToItsModule) {
  const ScopeId module = intern_scope(0, "", "Net");
  start_profile();
  {
    const OpRange node("node", 0, intern_scope(module, "head", "Linear"), 3);
    const OpRange inner("inner", 0);
  }
  {
    const ModuleScope scope(module);
    const OpRange op("op", 0);
  }
  { const OpRange outside("outside", 0); }
  const ProfileReport report = stop_profile();
  const auto& ranges = report.threads.at(0).ranges;
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(module_path(ranges[0].scope), "head");
  EXPECT_EQ(module_path(ranges[1].scope), "head");
  EXPECT_EQ(module_path(ranges[2].scope), "");
  EXPECT_FALSE(module_path(ranges[3].scope).has_value());
}

TEST(Profile, ManyRangesAreAllThereAndInOrder) {
  constexpr uint64_t kCount = 5000;  // several chunks
  for (int round = 0; round < 2; ++round) {
    start_profile();
    for (uint64_t number = 1; number <= kCount; ++number) {
      OpRange op("op", 0);
      op.set_sequence(number);
    }
    const ProfileReport report = stop_profile();
    const auto& ranges = report.threads.at(0).ranges;
    ASSERT_EQ(ranges.size(), kCount);
    for (uint64_t number = 1; number <= kCount; ++number) {
      ASSERT_EQ(ranges[number - 1].sequence, number);
    }
  }
}

TEST(Profile, CallRangesAreNotedWhileAProfileRuns) {
  { const CallRange before("SGD", "step", 0); }
  start_profile();
  { const CallRange step("SGD", "step", 0); }
  const ProfileReport report = stop_profile();
  ASSERT_EQ(report.threads.at(0).ranges.size(), 1u);
  EXPECT_STREQ(report.threads[0].ranges[0].name, "SGD.step");
  EXPECT_EQ(report.threads[0].ranges[0].kind, RangeKind::op);
}

TEST(ProfileMemory, CountsBlocksForTheRangesAroundThem) {
  start_profile({.notes_memory = true});
  void* kept = nullptr;
  {
    const OpRange outer("outer", 0);
    kept = allocate(100);
    const OpRange inner("inner", 0);
    const Scratch temporary(5000);
    const Scratch another(2000);
  }
  const ProfileReport report = stop_profile();
  deallocate(kept, 100);
  const std::vector<RangeMemory>& memory = report.threads.at(0).memory;
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].allocations, 2);
  EXPECT_EQ(memory[0].allocated, 7000);
  EXPECT_EQ(memory[0].peak, 7000);
  EXPECT_EQ(memory[0].kept, 0);
  EXPECT_EQ(memory[1].allocations, 3);
  EXPECT_EQ(memory[1].allocated, 7100);
  EXPECT_EQ(memory[1].peak, 7100);
  EXPECT_EQ(memory[1].kept, 100);
}

TEST(ProfileMemory, TellsWhatWasAliveAtThePeak) {
  void* const older = allocate(300);
  start_profile({.notes_memory = true});
  void* first = nullptr;
  {
    const OpRange op("first", 0);
    first = allocate(4000);
  }
  {
    const OpRange op("second", 0);
    const Scratch temporary(6000);
  }
  deallocate(older, 300);
  void* const outside = allocate(50);
  deallocate(first, 4000);
  const MemoryReport memory = stop_profile().memory;
  deallocate(outside, 50);
  ASSERT_TRUE(memory.is_noted);
  EXPECT_EQ(memory.peak - memory.start, 10000);
  EXPECT_EQ(memory.older_at_peak, memory.start);
  ASSERT_EQ(memory.samples.size(), 6u);
  EXPECT_EQ(memory.samples.back().live - memory.start, 50 - 300);
  ASSERT_EQ(memory.sites.size(), 3u);
  EXPECT_STREQ(memory.sites[0].name, "first");
  EXPECT_EQ(memory.sites[0].at_peak, 4000);
  EXPECT_EQ(memory.sites[0].at_end, 0);
  EXPECT_EQ(memory.sites[1].at_peak, 6000);
  EXPECT_EQ(memory.sites[2].name, nullptr);
  EXPECT_EQ(memory.sites[2].at_peak, 0);
  EXPECT_EQ(memory.sites[2].at_end, 50);
}

TEST(ProfileMemory, IsNotNotedUnlessAskedFor) {
  start_profile();
  {
    const OpRange op("op", 0);
    const Scratch temporary(5000);
  }
  const ProfileReport report = stop_profile();
  EXPECT_FALSE(report.memory.is_noted);
  EXPECT_TRUE(report.threads.at(0).memory.empty());
  EXPECT_TRUE(report.memory.sites.empty());
}

TEST(ProfileMemory, SeesThreadsThatWorkForTheProfileAndEndInIt) {
  start_profile({.notes_memory = true});
  std::thread helper([] {
    const ModeScope mode(gate::kProfiler, 0);
    const OpRange op("helper", 0);
    const Scratch temporary(5000);
  });
  helper.join();
  const ProfileReport report = stop_profile();
  EXPECT_EQ(report.memory.peak - report.memory.start, 5000);
  ASSERT_EQ(report.memory.sites.size(), 1u);
  EXPECT_STREQ(report.memory.sites[0].name, "helper");
}

TEST(ProfileMemory, FailuresAreStillInjected) {
  start_profile({.notes_memory = true});
  fail_allocation_after(1);
  { const Scratch first(64); }
  EXPECT_THROW(allocate(64), OutOfMemoryError);
  fail_allocation_after(-1);
  { const Scratch after(64); }
  const ProfileReport report = stop_profile();
  ASSERT_EQ(report.memory.sites.size(), 1u);
  EXPECT_EQ(report.memory.sites[0].allocations, 2);
}

TEST(Profile, NamesAreKeptOnce) {
  const std::string name = "some name";
  const char* const kept = intern_range_name(name);
  EXPECT_NE(kept, name.c_str());
  EXPECT_EQ(kept, intern_range_name("some name"));
}

}  // namespace
}  // namespace ebb
