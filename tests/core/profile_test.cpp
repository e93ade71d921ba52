// tests/core/profile_test.cpp -- ranges: kinds, nesting, threads, and profiles that stop in
// between.
#include "ebb/core/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "ebb/core/error.h"

namespace ebb {
namespace {

TEST(Profile, NotesRangesInTheOrderInWhichTheyEnd) {
  start_profile();
  {
    const UserRange outer("outer");
    const OpRange op("op", 0, 7, true);
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

TEST(Profile, NamesAreKeptOnce) {
  const std::string name = "some name";
  const char* const kept = intern_range_name(name);
  EXPECT_NE(kept, name.c_str());
  EXPECT_EQ(kept, intern_range_name("some name"));
}

}  // namespace
}  // namespace ebb
