// tests/core/tensor/write_log_test.cpp -- what the log of a storage knows of its writes.
#include "ebb/core/tensor/write_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace ebb {
namespace {

constexpr int64_t kBytes = 144;  // of the memory that is written: 12 rows of 12

/// A log, and beside it the last version that wrote each byte.
struct Memory {
  WriteLog log{0, kBytes};
  std::atomic<uint32_t> version{0};
  std::vector<uint32_t> written = std::vector<uint32_t>(kBytes, 0);

  void write(int64_t start, int64_t run, LocationId line = 1) {
    write(ByteRegion::dense(start, run), line);
  }
  void write(const ByteRegion& region, LocationId line = 1) {
    log.note(version, "fill_", line, region);
    for (const int64_t byte : bytes_of(region)) written[static_cast<size_t>(byte)] = version;
  }
  bool is_hit(uint32_t since, const ByteRegion& region) const {
    return log.find(since, region).has_value();
  }
  bool is_hit(uint32_t since, int64_t start, int64_t run) const {
    return is_hit(since, ByteRegion::dense(start, run));
  }
  bool was_hit(uint32_t since, const ByteRegion& region) const {
    const std::vector<int64_t> bytes = bytes_of(region);
    return std::any_of(bytes.begin(), bytes.end(),
                       [&](int64_t byte) { return written[static_cast<size_t>(byte)] > since; });
  }
  /// Of regions with at most one axis.
  static std::vector<int64_t> bytes_of(const ByteRegion& region) {
    std::vector<int64_t> bytes;
    const int64_t count = region.ndim == 0 ? 1 : region.axes[0].count;
    for (int64_t at = 0; at < count; ++at) {
      const int64_t start = region.start + (region.ndim == 0 ? 0 : at * region.axes[0].stride);
      for (int64_t byte = 0; byte < region.run; ++byte) bytes.push_back(start + byte);
    }
    return bytes;
  }
};

ByteRegion column_at(int64_t column) {
  return ByteRegion::strided(column, 1, std::vector<int64_t>{12}, std::vector<int64_t>{12});
}

TEST(WriteLog, FindsNothingBeforeTheFirstWrite) {
  const Memory memory;
  EXPECT_FALSE(memory.is_hit(0, 0, kBytes));
}

TEST(WriteLog, TellsWhoWroteWhereAndWhen) {
  Memory memory;
  memory.log.note(memory.version, "mul_", 42, ByteRegion::dense(4, 8));
  const auto found = memory.log.find(0, ByteRegion::dense(0, 5));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->version, 1u);
  EXPECT_STREQ(found->op, "mul_");
  EXPECT_EQ(found->location, 42u);
  EXPECT_FALSE(memory.is_hit(0, 0, 4));
  EXPECT_FALSE(memory.is_hit(1, 4, 8));
}

TEST(WriteLog, NamesTheFirstOfTwoWriters) {
  Memory memory;
  for (const LocationId line : {7u, 8u}) memory.write(0, 4, line);
  EXPECT_EQ(memory.log.find(0, ByteRegion::dense(0, 1))->location, 7u);
  EXPECT_EQ(memory.log.find(1, ByteRegion::dense(0, 1))->location, 8u);
}

TEST(WriteLog, KeepsALoopOverRowsAsOneEntryThatKnowsTheirOrder) {
  Memory memory;
  for (int64_t row = 0; row < 12; ++row) memory.write(row * 12, 12);
  EXPECT_EQ(memory.log.entries(), 1);
  for (uint32_t row = 0; row < 12; ++row) {
    EXPECT_TRUE(memory.is_hit(row, row * 12, 12));
    EXPECT_FALSE(memory.is_hit(row + 1, row * 12, 12));
    EXPECT_FALSE(memory.is_hit(row + 1, 0, row * 12));
  }
}

TEST(WriteLog, KeepsALoopOverColumnsAsOneEntry) {
  Memory memory;
  for (int64_t column = 11; column >= 0; --column) memory.write(column_at(column));
  EXPECT_EQ(memory.log.entries(), 1);
  EXPECT_FALSE(memory.is_hit(5, column_at(7)));
  EXPECT_TRUE(memory.is_hit(5, column_at(6)));
}

TEST(WriteLog, KeepsNestedLoopsAsOneEntry) {
  Memory memory;
  for (int64_t row = 0; row < 12; ++row) {
    for (int64_t column = 0; column < 11; ++column) memory.write(row * 12 + column, 1);
  }
  EXPECT_EQ(memory.log.entries(), 1);
  EXPECT_FALSE(memory.is_hit(3 * 11 + 5, 3 * 12 + 4, 1));
  EXPECT_TRUE(memory.is_hit(3 * 11 + 5, 3 * 12 + 5, 1));
  EXPECT_FALSE(memory.is_hit(0, column_at(11)));
}

TEST(WriteLog, KeepsEachTurnOfAThirdLoopAsAnEntry) {
  Memory memory;
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 0; column < 4; ++column) {
        memory.write(part * 48 + row * 12 + column, 1);
      }
    }
  }
  EXPECT_EQ(memory.log.entries(), 3);
  EXPECT_TRUE(memory.is_hit(13, 48 + 2, 1));
  EXPECT_FALSE(memory.is_hit(15, 48 + 2, 1));
  EXPECT_FALSE(memory.is_hit(0, 4, 8));
}

TEST(WriteLog, KeepsLoopsOfSeveralLinesApart) {
  Memory memory;
  for (int64_t row = 0; row < 12; ++row) {
    memory.write(row * 12, 4, 1);
    memory.write(row * 12 + 8, 4, 2);
  }
  EXPECT_EQ(memory.log.entries(), 2);
  EXPECT_FALSE(memory.is_hit(0, 4, 4));
  EXPECT_EQ(memory.log.find(6, ByteRegion::dense(3 * 12, 12))->location, 1u);
  EXPECT_EQ(memory.log.find(7, ByteRegion::dense(3 * 12, 12))->location, 2u);
  EXPECT_FALSE(memory.is_hit(8, 3 * 12, 12));
}

TEST(WriteLog, TakesRepeatedWritesOfOnePlaceForOneEntry) {
  Memory memory;
  for (int write = 0; write < 1000; ++write) memory.write(24, 12);
  EXPECT_EQ(memory.log.entries(), 1);
  EXPECT_TRUE(memory.is_hit(999, 24, 1));
  EXPECT_FALSE(memory.is_hit(0, 36, 12));
}

TEST(WriteLog, KnowsSixtyFourScatteredRegions) {
  Memory memory;
  std::vector<int64_t> places;
  for (int64_t place = 0; place < 128; place += 2) places.push_back(place);
  std::shuffle(places.begin(), places.end(), std::mt19937(3));
  // A line each: nothing can be joined.
  for (size_t at = 0; at < 64; ++at) memory.write(places[at], 1, static_cast<LocationId>(at + 1));
  EXPECT_EQ(memory.log.entries(), 64);
  for (uint32_t at = 0; at < 64; ++at) {
    EXPECT_FALSE(memory.is_hit(0, places[at] + 1, 1));
    EXPECT_FALSE(memory.is_hit(at + 1, places[at], 1));
    EXPECT_EQ(memory.log.find(0, ByteRegion::dense(places[at], 1))->location, at + 1);
  }
}

TEST(WriteLog, StandsForMoreThanWasWrittenWhenItIsFull) {
  Memory memory;
  for (uint32_t at = 0; at < 1000; ++at) memory.write(60 + at * 7 % 11, 1, at + 1);
  EXPECT_LE(memory.log.entries(), WriteLog::kMaxEntries);
  EXPECT_TRUE(memory.is_hit(0, 60, 11));
  EXPECT_FALSE(memory.is_hit(0, 0, 60));
  EXPECT_FALSE(memory.is_hit(0, 71, 60));
  EXPECT_EQ(memory.log.find(999, ByteRegion::dense(0, kBytes))->location, 1000u);
  EXPECT_FALSE(memory.is_hit(1000, 0, kBytes));
}

/// So many writes of lines of their own that the log is full, and one more.
void fill(Memory& memory, int64_t start, int64_t run) {
  for (LocationId line = 100; line <= 100 + WriteLog::kMaxEntries; ++line) {
    memory.write(start, run, line);
  }
}

TEST(WriteLog, StandsForALoopThatRanBackwardsWhenItIsFull) {
  Memory memory;
  for (int64_t row = 5; row >= 2; --row) memory.write(row * 12, 12);
  fill(memory, 120, 1);
  EXPECT_TRUE(memory.is_hit(0, 2 * 12, 1));
  EXPECT_TRUE(memory.is_hit(0, 5 * 12 + 11, 1));
  EXPECT_FALSE(memory.is_hit(0, 0, 2 * 12));
  EXPECT_TRUE(memory.is_hit(0, 119, 1));  // between what it stands for
  EXPECT_FALSE(memory.is_hit(0, 121, 23));
}

TEST(WriteLog, KeepsTheNewerHalfAsItIsWhenItIsFull) {
  constexpr auto kMost = static_cast<uint32_t>(WriteLog::kMaxEntries), kFolded = kMost / 2;
  Memory memory;
  for (uint32_t at = 0; at <= kMost; ++at) memory.write(2 * at, 1, at + 1);
  for (uint32_t at = kFolded; at <= kMost; ++at) {
    const auto found = memory.log.find(at, ByteRegion::dense(2 * at, 1));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->location, at + 1);
    EXPECT_FALSE(memory.is_hit(at + 1, 2 * at, 1));
    EXPECT_FALSE(memory.is_hit(0, 2 * at + 1, 1));
  }
  EXPECT_TRUE(memory.is_hit(kFolded - 1, 0, 1));  // as if all of the older half came last
  EXPECT_FALSE(memory.is_hit(kFolded, 0, 1));
}

TEST(WriteLog, WritesOfNothingHitNothingWhenItIsFull) {
  Memory memory;
  fill(memory, 60, 0);
  EXPECT_LE(memory.log.entries(), WriteLog::kMaxEntries);
  EXPECT_FALSE(memory.is_hit(0, 0, kBytes));
  fill(memory, 60, 4);
  EXPECT_TRUE(memory.is_hit(0, 60, 4));
  EXPECT_FALSE(memory.is_hit(0, 0, 60));
}

TEST(WriteLog, NamesAKnownWriterRatherThanTheSumOfThoseBefore) {
  Memory memory;
  fill(memory, 60, 4);
  const auto found = memory.log.find(0, ByteRegion::dense(60, 4));
  ASSERT_TRUE(found.has_value());
  EXPECT_STREQ(found->op, "fill_");
  EXPECT_GT(found->location, 100u);
  EXPECT_EQ(found->version, found->location - 99);  // the first that is known
}

TEST(WriteLog, DoubtsAllBytesOfWritesBeforeItWasMade) {
  std::atomic<uint32_t> version{3};
  WriteLog log(version, kBytes);
  for (const int64_t byte : {int64_t{0}, kBytes - 1}) {
    ASSERT_TRUE(log.find(2, ByteRegion::dense(byte, 1)).has_value());
    EXPECT_EQ(log.find(2, ByteRegion::dense(byte, 1))->location, 0u);
  }
  EXPECT_FALSE(log.find(2, ByteRegion::dense(kBytes, 1)).has_value());
  log.note(version, "add_", 1, ByteRegion::dense(0, 4));
  EXPECT_TRUE(log.find(2, ByteRegion::dense(100, 1)).has_value());
  EXPECT_EQ(log.find(2, ByteRegion::dense(100, 1))->op, nullptr);
  EXPECT_FALSE(log.find(3, ByteRegion::dense(100, 1)).has_value());
}

TEST(WriteLog, StartsAnewWithTheVersions) {
  std::atomic<uint32_t> version{0};
  WriteLog log(0, kBytes);
  log.note(version, "add_", 1, ByteRegion::dense(0, 4));
  version = UINT32_MAX;
  log.note(version, "add_", 1, ByteRegion::dense(8, 4));
  log.note(version, "add_", 1, ByteRegion::dense(16, 4));
  EXPECT_EQ(version, 1u);
  EXPECT_TRUE(log.find(0, ByteRegion::dense(16, 4)).has_value());
  EXPECT_FALSE(log.find(0, ByteRegion::dense(0, 4)).has_value());
}

TEST(WriteLog, TakesWritesFromSeveralThreads) {
  Memory memory;
  std::vector<std::thread> writers;
  for (int64_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&memory, writer] {
      for (int write = 0; write < 500; ++write) {
        memory.log.note(memory.version, "add_", 1, ByteRegion::dense(writer * 24, 12));
        EXPECT_TRUE(memory.is_hit(0, writer * 24, 12));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(memory.version, 2000u);
  // How the writers take turns decides what is joined, but not what lies behind all of them.
  EXPECT_FALSE(memory.is_hit(0, 84, 12));
}

/// One to three loops of random writes, taking turns, with random questions between them.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  void run() {
    for (int64_t part = draw(1, 5); part > 0; --part) {
      const int64_t kind = draw(0, 3), count = draw(1, 12), line = draw(1, 3);
      const int64_t size = draw(1, 6), step = draw(-6, 12), origin = draw(0, 11);
      for (int64_t turn = 0; turn < count; ++turn) {
        if (kind == 0) write(origin * 12 + turn * step, size, line);
        if (kind == 1) memory_.write(column_at((origin + turn) % 12), line_of(line));
        if (kind == 2) write(draw(0, kBytes - 1), size, line);
        for (int64_t inner = 0; kind == 3 && inner < size; ++inner) {
          write(turn * 12 + inner, 1, line);
        }
        if (draw(0, 2) == 0) write(origin, 3, 9);
        ask();
      }
    }
  }
  int questions = 0, missed = 0, false_alarms = 0;

 private:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  static LocationId line_of(int64_t line) { return static_cast<LocationId>(line); }
  void write(int64_t start, int64_t size, int64_t line) {
    start = std::clamp(start, int64_t{0}, kBytes - size);
    memory_.write(start, size, line_of(line));
  }
  void ask() {
    const auto now = static_cast<int64_t>(memory_.version.load());
    const auto since = static_cast<uint32_t>(draw(std::max(now - 40, int64_t{0}), now));
    const int64_t size = draw(1, 12);
    const ByteRegion region =
        draw(0, 1) == 0 ? column_at(draw(0, 11)) : ByteRegion::dense(draw(0, kBytes - size), size);
    const bool found = memory_.is_hit(since, region), truth = memory_.was_hit(since, region);
    ++questions;
    if (truth && !found) ++missed;
    if (!truth && found) ++false_alarms;
  }

  std::mt19937 random_;
  Memory memory_;
};

TEST(WriteLog, NeverMissesAWriteOfARandomProgram) {
  int questions = 0, missed = 0, false_alarms = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProgram program(seed);
    program.run();
    questions += program.questions;
    missed += program.missed;
    false_alarms += program.false_alarms;
  }
  EXPECT_EQ(missed, 0) << "of " << questions;
  RecordProperty("false_alarms", false_alarms);
  EXPECT_EQ(false_alarms, 0) << "of " << questions;  // none of these programs fills the log
}

}  // namespace
}  // namespace ebb
