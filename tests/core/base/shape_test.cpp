// tests/core/base/shape_test.cpp -- sizes and strides: limits, overflow, broadcasting, dims.
#include "ebb/core/base/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::string text_of(const Shape& shape) { return str(shape); }

TEST(Shape, HoldsUpToThirtyTwoSizes) {
  Shape shape;
  for (int dim = 0; dim < kMaxDims; ++dim) shape.push_back(dim);
  EXPECT_EQ(shape.ndim(), 32);
  EXPECT_EQ(shape[31], 31);
  EXPECT_EQ(error_of<ShapeError>([&] { shape.push_back(1); }),
            "tensor: needs at most 32 dimensions, got 33");
}

TEST(Shape, RefusesLongListsAtOnce) {
  const std::vector<int64_t> sizes(40, 1);
  EXPECT_EQ(error_of<ShapeError>([&] { Shape made(sizes); }),
            "tensor: needs at most 32 dimensions, got 40");
}

TEST(Shape, IsCopiedErasedAndCompared) {
  Shape shape = {2, 3, 4};
  const Shape copy = shape;
  shape.erase(1);
  EXPECT_EQ(text_of(shape), "[2, 4]");
  EXPECT_EQ(text_of(copy), "[2, 3, 4]");
  EXPECT_FALSE(shape == copy);
  EXPECT_EQ(text_of({}), "[]");
}

TEST(CheckedNumel, MultipliesSizes) {
  EXPECT_EQ(checked_numel("op", Shape{2, 3, 4}, 4), 24);
  EXPECT_EQ(checked_numel("op", Shape{}, 8), 1);
  EXPECT_EQ(checked_numel("op", Shape{5, 0, 7}, 8), 0);
}

TEST(CheckedNumel, RefusesNegativeSizes) {
  EXPECT_EQ(error_of<ShapeError>([] {
              checked_numel("zeros", Shape{2, -1}, 4);
            }),
            "zeros: sizes must not be negative, got [2, -1]");
}

TEST(CheckedNumel, RefusesProductsThatOverflow) {
  EXPECT_EQ(error_of<ShapeError>([] {
              checked_numel("zeros", Shape{kHuge, 2}, 1);
            }),
            "zeros: the number of bytes must fit into 63 bits, got sizes [9223372036854775807, 2] "
            "of 1 bytes an element");
}

TEST(CheckedNumel, RefusesByteCountsThatOverflow) {
  EXPECT_EQ(checked_numel("op", Shape{kHuge}, 1), kHuge);
  EXPECT_THROW(checked_numel("op", Shape{kHuge}, 2), ShapeError);
  EXPECT_EQ(checked_numel("op", Shape{kHuge / 16}, 16), kHuge / 16);
  EXPECT_THROW(checked_numel("op", Shape{kHuge / 16 + 1}, 16), ShapeError);
}

TEST(CheckedNumel, RefusesOverflowBesideASizeOfZero) {
  // The strides of such a tensor would overflow.
  EXPECT_THROW(checked_numel("op", Shape{0, kHuge, kHuge}, 4), ShapeError);
}

TEST(Strides, AreRowMajorAndPositiveForSizesOfZero) {
  std::vector<int64_t> strides(3);
  contiguous_strides(Shape{2, 3, 4}, strides.data());
  EXPECT_EQ(strides, (std::vector<int64_t>{12, 4, 1}));
  contiguous_strides(Shape{2, 0, 4}, strides.data());
  EXPECT_EQ(strides, (std::vector<int64_t>{4, 4, 1}));
}

TEST(Strides, AreContiguousWhateverDimsOfSizeOneSay) {
  EXPECT_TRUE(is_contiguous(Shape{2, 1, 3}, Shape{3, 99, 1}));
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Shape{1, 2}));
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Shape{6, 2}));
  EXPECT_TRUE(is_contiguous(Shape{0, 3}, Shape{7, 7}));
  EXPECT_TRUE(is_contiguous(Shape{}, Shape{}));
}

TEST(Broadcast, StretchesSizesOfOneFromTheBack) {
  EXPECT_EQ(text_of(broadcast_shapes("add", Shape{3, 1}, Shape{4})), "[3, 4]");
  EXPECT_EQ(text_of(broadcast_shapes("add", Shape{}, Shape{2, 2})), "[2, 2]");
  EXPECT_EQ(text_of(broadcast_shapes("add", Shape{5, 1, 7}, Shape{5, 6, 1})), "[5, 6, 7]");
}

TEST(Broadcast, StretchesOneToZero) {
  EXPECT_EQ(text_of(broadcast_shapes("add", Shape{1}, Shape{0})), "[0]");
  EXPECT_THROW(broadcast_shapes("add", Shape{2}, Shape{0}), ShapeError);
}

TEST(Broadcast, SaysWhichSizesDiffer) {
  EXPECT_EQ(error_of<ShapeError>([] {
              broadcast_shapes("add", Shape{2, 3, 5}, Shape{4, 5});
            }),
            "add: shapes must broadcast together, got [2, 3, 5] and [4, 5] (sizes 3 and 4 differ "
            "in dim -2)");
}

TEST(NormalizeDim, CountsNegativeDimsFromTheBack) {
  EXPECT_EQ(normalize_dim("sum", -1, 3), 2);
  EXPECT_EQ(normalize_dim("sum", 0, 3), 0);
  EXPECT_EQ(normalize_dim("sum", -3, 3), 0);
}

TEST(NormalizeDim, RefusesDimsOutOfRange) {
  EXPECT_EQ(error_of<IndexError>([] { normalize_dim("sum", 3, 3); }),
            "sum: dim must be from -3 to 2, got 3");
  EXPECT_EQ(error_of<IndexError>([] { normalize_dim("sum", -4, 3); }),
            "sum: dim must be from -3 to 2, got -4");
  EXPECT_THROW(normalize_dim("sum", std::numeric_limits<int64_t>::min(), 3), IndexError);
}

TEST(NormalizeDim, CountsAScalarAsOneDimension) {
  EXPECT_EQ(normalize_dim("sum", 0, 0), 0);
  EXPECT_EQ(normalize_dim("sum", -1, 0), 0);
  EXPECT_EQ(error_of<IndexError>([] { normalize_dim("sum", 1, 0); }),
            "sum: dim must be from -1 to 0, got 1");
}

}  // namespace
}  // namespace ebb
