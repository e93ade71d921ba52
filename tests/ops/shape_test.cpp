// tests/ops/shape_test.cpp -- views share memory and have the right sizes and strides; cat, split.
#include "ebb/ops/impl/shape.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/index_box_put_.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/view.h"
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
  EXPECT_EQ(floats(y), floats(x));
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

TEST(Reshape, HandlesZeroDimsAndZeroSizes) {
  EXPECT_EQ(list(reshape(count_up({1, 1}), Shape{}).sizes()), Ints{});
  EXPECT_EQ(list(reshape(reshape(count_up({1}), Shape{}), Shape{1, 1, 1}).sizes()),
            (Ints{1, 1, 1}));
  EXPECT_EQ(list(reshape(count_up({0, 3}), Shape{5, 0}).sizes()), (Ints{5, 0}));
  EXPECT_EQ(list(reshape(count_up({0, 3}), Shape{-1, 3}).sizes()), (Ints{0, 3}));
}

TEST(Reshape, RefusesShapesThatDoNotFit) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<ShapeError>([&] { reshape(x, Shape{4}); }),
            "reshape: shape must hold the 6 elements of input, got shape [4] and input "
            "float32 [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              reshape(x, Shape{-1, 4});
            }),
            "reshape: shape must hold the 6 elements of input, got shape [-1, 4] and input "
            "float32 [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              reshape(x, Shape{-1, -1});
            }),
            "reshape: shape needs sizes of at least 0 and at most one -1, got [-1, -1]");
  EXPECT_EQ(error_of<ShapeError>([] {
              reshape(count_up({0}), Shape{-1, 0});
            }),
            "reshape: -1 needs a shape without a size of 0, got [-1, 0] for input float32 [0]");
}

TEST(Reshape, RefusesSizesWhoseProductOverflows) {
  const int64_t huge = int64_t{1} << 32;
  EXPECT_NE(error_of<ShapeError>([&] {
              reshape(count_up({2}), Shape{huge, huge, 2});
            }),
            "no error");
  EXPECT_NE(error_of<ShapeError>([&] {
              reshape(count_up({0}), Shape{huge, huge, 0});
            }),
            "no error");
}

TEST(View, RefusesToCopy) {
  const Tensor x = transpose(count_up({2, 3}), 0, 1);
  EXPECT_EQ(list(view(count_up({2, 3}), Shape{6}).sizes()), Ints{6});
  EXPECT_EQ(error_of<ShapeError>([&] { view(x, Shape{6}); }),
            "view: shape must be expressible by strides, got shape [6] for input float32 [3, 2] "
            "with strides [1, 3]\nhint: use reshape, which copies if needed");
}

TEST(Transpose, ExchangesTwoDims) {
  const Tensor y = transpose(count_up({2, 3}), 0, -1);
  EXPECT_EQ(list(y.sizes()), (Ints{3, 2}));
  EXPECT_EQ(floats(y), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(error_of<IndexError>([] { transpose(count_up({2}), 0, 1); }),
            "transpose: dim must be from -1 to 0, got 1 for float32 [2]");
}

TEST(Permute, OrdersDimsAnewAndRefusesDuplicates) {
  const Tensor x = count_up({2, 3, 4});
  EXPECT_EQ(list(permute(x, Shape{2, 0, 1}).sizes()), (Ints{4, 2, 3}));
  EXPECT_EQ(list(permute(x, Shape{-1, 0, 1}).strides()), (Ints{1, 12, 4}));
  EXPECT_EQ(error_of<ValueError>([&] {
              permute(x, Shape{0, 1, -2});
            }),
            "permute: each dim may appear once, got dim -2 twice in [0, 1, -2]");
}

TEST(Expand, RepeatsWithoutMemory) {
  const Tensor y = expand(count_up({3, 1}), Shape{2, -1, 2});
  EXPECT_EQ(list(y.strides()), (Ints{0, 1, 0}));
  EXPECT_EQ(floats(y), (Floats{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(list(expand(count_up({1}), Shape{0}).sizes()), Ints{0});
}

TEST(Expand, RefusesWhatItCannotRepeat) {
  const Tensor x = count_up({2, 3});
  const std::string text =
      "expand: size must keep each size of input that is not 1 (-1 keeps any), ";
  EXPECT_EQ(error_of<ShapeError>([&] {
              expand(x, Shape{2, 4});
            }),
            text + "got size [2, 4] for input float32 [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              expand(x, Shape{-1, 2, 3});
            }),
            text + "got size [-1, 2, 3] for input float32 [2, 3]");
  const int64_t huge = int64_t{1} << 40;
  EXPECT_NE(error_of<ShapeError>([&] { expand(count_up({1}), Shape{huge, huge}); }), "no error");
}

TEST(IndexBox, SelectsWhatBasicIndexingSelects) {
  const Tensor x = count_up({4, 5});
  // x[1, ::2]
  const Tensor y = ops::impl::index_box(x, Shape{1, 0}, Shape{1, 2}, Shape{1, 3}, Shape{3});
  EXPECT_EQ(floats(y), (Floats{5, 7, 9}));
  EXPECT_TRUE(shares_memory(x, y));
  // x[None, 3:, None, 4:5]
  const Tensor z =
      ops::impl::index_box(x, Shape{3, 4}, Shape{1, 1}, Shape{1, 1}, Shape{1, 1, 1, 1});
  EXPECT_EQ(floats(z), Floats{19});
  const Tensor none = ops::impl::index_box(x, Shape{4, 0}, Shape{1, 1}, Shape{0, 5}, Shape{0, 5});
  EXPECT_EQ(none.numel(), 0);
}

TEST(IndexBox, RefusesBoxesThatLeaveTheTensor) {
  const Tensor x = count_up({3});
  const auto attempt = [&](int64_t start, int64_t step, int64_t size) {
    return error_of<IndexError>(
        [&] { ops::impl::index_box(x, Shape{start}, Shape{step}, Shape{size}, Shape{size}); });
  };
  EXPECT_EQ(attempt(2, 1, 2),
            "index_box: start, step and size must select elements of input, got start [2], step "
            "[1], size [2] for input float32 [3]");
  EXPECT_NE(attempt(-1, 1, 1), "no error");
  EXPECT_NE(attempt(0, 0, 1), "no error");
  EXPECT_NE(attempt(0, INT64_MAX, 3), "no error");
  EXPECT_NE(attempt(INT64_MAX, 1, 1), "no error");
  EXPECT_NE(attempt(3, 1, 1), "no error");
  EXPECT_EQ(error_of<ShapeError>(
                [&] { ops::impl::index_box(x, Shape{0}, Shape{1}, Shape{2}, Shape{1}); }),
            "index_box: shape may differ from size in sizes of 1 only, got shape [1] and size [2]");
}

TEST(IndexBox, GradientIsZeroOutsideTheBox) {
  const Tensor grad = vector_of<float>({1, 2});
  const Tensor out =
      ops::impl::index_box_backward(grad, Shape{2, 3}, Shape{1, 0}, Shape{1, 2}, Shape{1, 2});
  EXPECT_EQ(floats(out), (Floats{0, 0, 0, 1, 0, 2}));
}

TEST(IndexBoxPut, WritesBroadcastAndConverted) {
  const Tensor x = count_up({2, 3});
  index_box_put_(x, vector_of<int64_t>({7}), Shape{0, 1}, Shape{1, 1}, Shape{2, 1}, Shape{2});
  EXPECT_EQ(floats(x), (Floats{0, 7, 2, 3, 7, 5}));
  EXPECT_EQ(x.version(), 1u);
}

TEST(IndexBoxPut, CopiesASourceThatOverlaps) {
  const Tensor x = count_up({5});
  index_box_put_(x, slice(x, 0, 0, 4), Shape{1}, Shape{1}, Shape{4}, Shape{4});
  EXPECT_EQ(floats(x), (Floats{0, 0, 1, 2, 3}));
}

TEST(Slice, FollowsPythonsRules) {
  const Tensor x = count_up({5});
  EXPECT_EQ(floats(slice(x, 0, 1, 5, 2)), (Floats{1, 3}));
  EXPECT_EQ(floats(slice(x, 0, -2)), (Floats{3, 4}));
  EXPECT_EQ(floats(slice(x, 0, 3, 1)), Floats{});
  EXPECT_EQ(floats(slice(x, 0, {}, 99, 4)), (Floats{0, 4}));
  EXPECT_EQ(error_of<ValueError>([&] { slice(x, 0, 0, 5, 0); }),
            "slice: step must be at least 1, got 0");
}

TEST(Select, DropsTheDimAndRefusesIndicesOutside) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(floats(select(x, 1, -1)), (Floats{2, 5}));
  EXPECT_EQ(error_of<IndexError>([&] { select(x, 0, 2); }),
            "select: index must be from -2 to 1, got 2");
}

TEST(Squeeze, RemovesAndPutsInSizesOfOne) {
  const Tensor x = count_up({1, 3, 1});
  EXPECT_EQ(list(squeeze(x).sizes()), Ints{3});
  EXPECT_EQ(list(squeeze(x, 0).sizes()), (Ints{3, 1}));
  EXPECT_EQ(list(squeeze(x, 1).sizes()), (Ints{1, 3, 1}));
  EXPECT_EQ(list(unsqueeze(x, -1).sizes()), (Ints{1, 3, 1, 1}));
  EXPECT_EQ(list(unsqueeze(x, 1).sizes()), (Ints{1, 1, 3, 1}));
}

TEST(Flatten, JoinsARangeOfDims) {
  const Tensor x = count_up({2, 3, 4});
  EXPECT_EQ(list(flatten(x).sizes()), Ints{24});
  EXPECT_EQ(list(flatten(x, 1).sizes()), (Ints{2, 12}));
  EXPECT_EQ(list(flatten(x, 0, 1).sizes()), (Ints{6, 4}));
  EXPECT_EQ(list(flatten(reshape(count_up({1}), Shape{})).sizes()), Ints{1});
  EXPECT_EQ(error_of<ValueError>([&] { flatten(x, 2, 0); }),
            "flatten: start_dim must not come after end_dim, got 2 and 0 for float32 [2, 3, 4]");
}

TEST(Cat, JoinsAndPromotes) {
  const Tensor parts[] = {count_up({2, 1}), count_up({2, 0}), count_up({2, 2}, DType::int64)};
  const Tensor out = cat(parts, -1);
  EXPECT_EQ(out.dtype(), DType::float32);
  EXPECT_EQ(floats(out), (Floats{0, 0, 1, 1, 2, 3}));
}

TEST(Cat, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(error_of<ValueError>([] { cat({}); }),
            "cat: 'tensors' must not be empty, got no tensor");
  const Tensor parts[] = {count_up({2, 3}), count_up({2, 4})};
  EXPECT_EQ(error_of<ShapeError>([&] { cat(parts, 0); }),
            "cat: shapes must agree but for dim 0, got [2, 3] at position 0 and [2, 4] at "
            "position 1");
  const Tensor scalars[] = {reshape(count_up({1}), Shape{})};
  EXPECT_EQ(error_of<ShapeError>([&] { cat(scalars); }),
            "cat: tensors[0] needs at least 1 dims, got float32 []");
}

TEST(Split, CutsIntoViews) {
  const Tensor x = count_up({5});
  const std::vector<Tensor> parts = split(x, Shape{2, 0, 3});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(floats(parts[2]), (Floats{2, 3, 4}));
  EXPECT_TRUE(shares_memory(parts[0], x));
  EXPECT_EQ(split(x, int64_t{2}).size(), 3u);
  EXPECT_EQ(
      error_of<ShapeError>([&] {
        split(x, Shape{2, 2});
      }),
      "split: sizes must add up to the 5 elements of dim 0, got [2, 2] for input float32 [5]");
  EXPECT_NE(error_of<ShapeError>([&] { split(x, Shape{INT64_MAX, INT64_MAX, 7}); }), "no error");
}

TEST(Composites, NameAnUndefinedOperand) {
  EXPECT_EQ(error_of<ValueError>([] { select(Tensor(), 0, 0); }),
            "select: 'input' must be a tensor, got an undefined one");
  EXPECT_EQ(error_of<ValueError>([] { squeeze(Tensor()); }),
            "squeeze: 'input' must be a tensor, got an undefined one");
}

TEST(Views, OfThirtyTwoDimsWork) {
  Shape sizes;
  for (int dim = 0; dim < kMaxDims; ++dim) sizes.push_back(dim == 5 ? 3 : 1);
  const Tensor x = reshape(count_up({3}), sizes);
  EXPECT_EQ(floats(transpose(x, 5, 31)), (Floats{0, 1, 2}));
  EXPECT_NE(error_of<ShapeError>([&] { unsqueeze(x, 0); }), "no error");
}

}  // namespace
}  // namespace ebb
