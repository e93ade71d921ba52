// tests/core/tensor/byte_region_test.cpp -- which bytes a strided region touches, and who meets
// whom.
#include "ebb/core/tensor/byte_region.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {
namespace {

/// A slice of an array, and the bytes that its elements touch, one by one.
struct Slice {
  int64_t item = 1;
  int64_t start = 0;
  std::vector<int64_t> sizes, strides;

  ByteRegion region() const { return ByteRegion::strided(start, item, sizes, strides); }
  std::set<int64_t> bytes() const {
    std::set<int64_t> places{start};
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      std::set<int64_t> more;
      for (const int64_t place : places) {
        for (int64_t step = 0; step < sizes[dim]; ++step) {
          more.insert(place + step * strides[dim] * item);
        }
      }
      places.swap(more);
    }
    std::set<int64_t> all;
    for (const int64_t place : places) {
      for (int64_t byte = 0; byte < item; ++byte) all.insert(place + byte);
    }
    return all;
  }
};

bool meet(const ByteRegion& lhs, const ByteRegion& rhs) { return may_meet(lhs, {}, rhs); }

/// Column `column` of a 4-byte matrix with rows of `width`.
ByteRegion column_of(int64_t column, int64_t width, int64_t rows) {
  return Slice{4, 4 * column, {rows}, {width}}.region();
}

TEST(ByteRegion, PutsTogetherWhatHasNoGap) {
  const ByteRegion rows = Slice{4, 40, {3, 5}, {5, 1}}.region();
  EXPECT_EQ(rows.start, 40);
  EXPECT_EQ(rows.run, 60);
  EXPECT_EQ(rows.ndim, 0);
}

TEST(ByteRegion, ReadsReversedTransposedAndStretchedDimsFromTheLowestByte) {
  const ByteRegion region = Slice{4, 4 * 14, {2, 7, 3}, {-1, 0, -5}}.region();
  EXPECT_EQ(region.start, 4 * 3);  // 14 - 1 - 2 * 5
  EXPECT_EQ(region.run, 8);
  ASSERT_EQ(region.ndim, 1);
  EXPECT_EQ(region.axes[0].stride, 20);
  EXPECT_EQ(region.axes[0].count, 3);
  EXPECT_EQ(region.span(), 48);
}

TEST(ByteRegion, TouchesNothingWithoutElements) {
  const ByteRegion nothing = Slice{4, 0, {3, 0}, {1, 1}}.region();
  EXPECT_EQ(nothing.run, 0);
  EXPECT_FALSE(meet(nothing, ByteRegion::dense(0, 100)));
  EXPECT_FALSE(meet(ByteRegion::dense(0, 100), nothing));
}

TEST(ByteRegion, IsThatOfTheElementsOfATensor) {
  const Tensor base = empty(Shape{4, 5}, DType::float32);
  const ByteRegion column = region_of(*make_view(base, Shape{4}, Shape{5}, 2).impl());
  EXPECT_EQ(column.start, 8);
  EXPECT_EQ(column.run, 4);
  EXPECT_EQ(column.axes[0].stride, 20);
  EXPECT_EQ(region_of(*base.impl()).run, 80);
}

TEST(ByteRegion, TellsColumnsApart) {
  EXPECT_FALSE(meet(column_of(0, 1000, 5000), column_of(1, 1000, 5000)));
  EXPECT_TRUE(meet(column_of(7, 1000, 5000), column_of(7, 1000, 5000)));
}

TEST(ByteRegion, TellsBlocksOfAMatrixApart) {
  const ByteRegion left = Slice{4, 0, {8, 3}, {6, 1}}.region();
  EXPECT_FALSE(meet(left, Slice{4, 12, {8, 3}, {6, 1}}.region()));
  EXPECT_TRUE(meet(left, Slice{4, 8, {8, 3}, {6, 1}}.region()));
}

TEST(ByteRegion, FindsWhereTwoStepsMeet) {
  // 0, 4, 8, ... and 2, 8, 14, ... meet at 8; 0, 4, ... and 1, 7, ... never do.
  const ByteRegion fours = Slice{1, 0, {1000}, {4}}.region();
  EXPECT_TRUE(meet(fours, Slice{1, 2, {1000}, {6}}.region()));
  EXPECT_FALSE(meet(fours, Slice{1, 1, {1000}, {6}}.region()));
}

TEST(ByteRegion, RepeatsInBothDirections) {
  const ByteRegion last_row = ByteRegion::dense(90, 10);
  const ByteAxis upwards{-10, 4};  // rows 9, 8, 7 and 6
  EXPECT_TRUE(may_meet(last_row, {&upwards, 1}, ByteRegion::dense(60, 1)));
  EXPECT_FALSE(may_meet(last_row, {&upwards, 1}, ByteRegion::dense(59, 1)));
}

TEST(ByteRegion, SaysYesWhereTheSearchTakesTooLong) {
  // 41^3 sums of nearly equal strides, none of which is the byte that is asked for.
  const Slice many{1, 0, {41, 41, 41}, {6991, 6997, 7001}};
  const int64_t place = 20 * 6991 + 20 * 6997 + 20 * 7001 + 1000;
  EXPECT_FALSE(many.bytes().contains(place));
  EXPECT_TRUE(meet(many.region(), ByteRegion::dense(place, 1)));
  EXPECT_FALSE(meet(many.region(), ByteRegion::dense(-1, 1)));
}

TEST(ByteRegion, HasTheFormOfOneThatDiffersInItsStartAlone) {
  const ByteRegion region = Slice{1, 0, {3, 4}, {24, 6}}.region();
  EXPECT_TRUE(region.has_form_of(Slice{1, 7, {3, 4}, {24, 6}}.region()));
  EXPECT_FALSE(region.has_form_of(Slice{1, 0, {3, 3}, {24, 6}}.region()));
  EXPECT_FALSE(region.has_form_of(Slice{1, 0, {2, 4}, {25, 6}}.region()));
  EXPECT_FALSE(region.has_form_of(Slice{1, 0, {3, 4}, {25, 6}}.region()));
  EXPECT_FALSE(region.has_form_of(Slice{2, 0, {3, 4}, {12, 3}}.region()));
  EXPECT_FALSE(region.has_form_of(ByteRegion::dense(0, 1)));
}

/// A random slice of an array of at most four dims, some reversed, or any strides at all.
Slice random_slice(std::mt19937& random, bool of_an_array) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Slice slice{draw(0, 1) == 0 ? 1 : 4, 0, {}, {}};
  int64_t stride = 1;
  for (int64_t dim = draw(0, 4); dim > 0; --dim) {
    const int64_t extent = draw(2, 5), first = draw(0, extent - 1), step = draw(1, 2);
    const int64_t size = draw(1, (extent - 1 - first) / step + 1);
    const int64_t taken = of_an_array ? step * stride : draw(-9, 9);
    const bool is_reversed = draw(0, 3) == 0;
    slice.start += first * stride * slice.item;
    if (is_reversed) slice.start += (size - 1) * taken * slice.item;
    slice.sizes.push_back(size);
    slice.strides.push_back(is_reversed ? -taken : taken);
    stride *= extent;
  }
  return slice;
}

struct Outcome {
  int pairs = 0, missed = 0, false_alarms = 0;
};

Outcome compare_random_pairs(bool of_an_array) {
  std::mt19937 random(7);
  Outcome outcome;
  for (; outcome.pairs < 20000; ++outcome.pairs) {
    const Slice lhs = random_slice(random, of_an_array), rhs = random_slice(random, of_an_array);
    const std::set<int64_t> left = lhs.bytes();
    bool do_meet = false;
    for (const int64_t byte : rhs.bytes()) do_meet = do_meet || left.count(byte) != 0;
    const bool found = meet(lhs.region(), rhs.region());
    if (do_meet && !found) ++outcome.missed;
    if (!do_meet && found) ++outcome.false_alarms;
  }
  return outcome;
}

TEST(ByteRegion, AgreesWithAListOfAllBytesForSlicesOfArrays) {
  const Outcome outcome = compare_random_pairs(true);
  EXPECT_EQ(outcome.missed, 0);
  EXPECT_EQ(outcome.false_alarms, 0) << "of " << outcome.pairs;
}

TEST(ByteRegion, NeverMissesAByteWhateverTheStrides) {
  const Outcome outcome = compare_random_pairs(false);
  EXPECT_EQ(outcome.missed, 0);
  RecordProperty("false_alarms", outcome.false_alarms);
  EXPECT_LT(outcome.false_alarms, 20) << "of " << outcome.pairs;
}

}  // namespace
}  // namespace ebb
