// tests/ops/shape_test.cpp -- strides of views, which of them need a copy, and copies between parts
// that overlap.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/index_box_put_.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

bool shares_memory(const Tensor& lhs, const Tensor& rhs) {
  return lhs.impl()->storage == rhs.impl()->storage;
}

TEST(Reshape, OfAContiguousTensorIsAView) {
  const Tensor x = count_up({2, 6});
  const Tensor y = reshape(x, Shape{3, -1});
  EXPECT_EQ(list(y.sizes()), (Ints{3, 4}));
  EXPECT_TRUE(shares_memory(x, y));
}

TEST(Reshape, MergesAndCutsDimsOfATransposedTensorWithoutACopy) {
  const Tensor x = transpose(count_up({4, 6}), 0, 1);  // strides 1, 6
  const Tensor y = reshape(x, Shape{2, 3, 4});
  EXPECT_TRUE(shares_memory(x, y));
  EXPECT_EQ(list(y.strides()), (Ints{3, 1, 6}));
  EXPECT_EQ(floats(y), floats(x));
}

TEST(Reshape, CopiesWhatStridesCannotExpress) {
  const Tensor x = transpose(count_up({2, 3}), 0, 1);
  const Tensor y = reshape(x, Shape{6});
  EXPECT_FALSE(shares_memory(x, y));
  EXPECT_EQ(floats(y), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Reshape, HandlesZeroSizes) {
  EXPECT_EQ(list(reshape(count_up({0, 3}), Shape{5, 0}).sizes()), (Ints{5, 0}));
  EXPECT_EQ(list(reshape(count_up({0, 3}), Shape{-1, 3}).sizes()), (Ints{0, 3}));
}

TEST(Views, HaveTheStridesOfWhatTheyShow) {
  EXPECT_EQ(list(permute(count_up({2, 3, 4}), Shape{-1, 0, 1}).strides()), (Ints{1, 12, 4}));
  EXPECT_EQ(list(expand(count_up({3, 1}), Shape{2, -1, 2}).strides()), (Ints{0, 1, 0}));
  const Tensor x = count_up({5});
  const std::vector<Tensor> parts = split(x, Shape{2, 0, 3});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(floats(parts[2]), (Floats{2, 3, 4}));
  EXPECT_TRUE(shares_memory(parts[0], x));
}

TEST(Views, OfThirtyTwoDimsWork) {
  Shape sizes;
  for (int dim = 0; dim < kMaxDims; ++dim) sizes.push_back(dim == 5 ? 3 : 1);
  const Tensor x = reshape(count_up({3}), sizes);
  EXPECT_EQ(floats(transpose(x, 5, 31)), (Floats{0, 1, 2}));
  EXPECT_NE(error_of<ShapeError>([&] { unsqueeze(x, 0); }), "no error");
}

TEST(Copy, BroadcastsConvertsAndRaisesTheVersion) {
  const Tensor x = count_up({2, 3});
  copy_(x, vector_of<int64_t>({7, 8, 9}));
  EXPECT_EQ(floats(x), (Floats{7, 8, 9, 7, 8, 9}));
  EXPECT_EQ(x.version(), 1u);
  copy_(x, reshape(count_up({3}), Shape{1, 1, 3}));  // leading sizes of 1 are left out
  EXPECT_EQ(floats(x), (Floats{0, 1, 2, 0, 1, 2}));
}

TEST(Copy, OfAnOverlappingSourceIsAsIfCopiedFirst) {
  const Tensor x = count_up({4});
  copy_(slice(x, 0, 1, 4), slice(x, 0, 0, 3));
  EXPECT_EQ(floats(x), (Floats{0, 0, 1, 2}));
  const Tensor square = count_up({2, 2});
  copy_(square, transpose(square, 0, 1));
  EXPECT_EQ(floats(square), (Floats{0, 2, 1, 3}));
  const Tensor line = count_up({5});
  index_box_put_(line, slice(line, 0, 0, 4), Shape{1}, Shape{1}, Shape{4}, Shape{4});
  EXPECT_EQ(floats(line), (Floats{0, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace ebb
