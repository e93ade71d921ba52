// tests/ops/copy_test.cpp -- cast, clone, copy_, fill_: values, versions, overlap, refusals.
#include "ebb/ops/impl/copy.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/zero_.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Cast, ConvertsAndAlwaysCopies) {
  const Tensor x = vector_of<float>({-1.5f, 0, 2.7f});
  EXPECT_EQ(ints(cast(x, DType::int32)), (Ints{-1, 0, 2}));
  EXPECT_EQ(ints(cast(x, DType::boolean)), (Ints{1, 0, 1}));
  EXPECT_NE(cast(x, DType::float32).data_ptr(), x.data_ptr());
}

TEST(Clone, IsContiguous) {
  const Tensor x = transpose(count_up({2, 3}), 0, 1);
  EXPECT_TRUE(clone(x).is_contiguous());
  EXPECT_EQ(floats(clone(x)), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(contiguous(clone(x)).is_contiguous());
  EXPECT_EQ(list(clone(count_up({0, 3})).sizes()), (Ints{0, 3}));
}

TEST(Contiguous, SharesAContiguousTensor) {
  const Tensor x = count_up({2, 3});
  EXPECT_TRUE(contiguous(x).is_same(x));
  EXPECT_FALSE(contiguous(transpose(x, 0, 1)).is_same(x));
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
}

TEST(Copy, RefusesASourceThatDoesNotFit) {
  EXPECT_EQ(error_of<ShapeError>([] { copy_(count_up({2}), count_up({3})); }),
            "copy_: the source must broadcast to shape [2], got float32 [3]");
  EXPECT_EQ(error_of<ShapeError>([] {
              copy_(count_up({2}), count_up({2, 2}));
            }),
            "copy_: the source must broadcast to shape [2], got float32 [2, 2]");
}

TEST(InPlace, RefusesMemoryThatMayNotBeWritten) {
  const Tensor expanded = expand(count_up({1}), Shape{3});
  EXPECT_EQ(error_of<ValueError>([&] { copy_(expanded, count_up({3})); }),
            "copy_: no two elements of what is written may share memory, got shape [3] with "
            "strides [0]\nhint: clone() it first");
  const Tensor fixed = count_up({2});
  fixed.impl()->storage->mark_read_only();
  EXPECT_EQ(error_of<ValueError>([&] { fill_(fixed, 1); }),
            "fill_: the tensor that is written must be writable, got float32 [2] over read-only "
            "memory\nhint: clone() it first");
}

TEST(Fill, WritesOneNumber) {
  const Tensor x = count_up({2, 2});
  fill_(select(x, 1, 0), 9);
  EXPECT_EQ(floats(x), (Floats{9, 1, 9, 3}));
  zero_(x);
  EXPECT_EQ(floats(x), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(x.version(), 2u);
  EXPECT_NE(error_of<ValueError>([] { fill_(count_up({1}, DType::uint8), 256); }), "no error");
}

TEST(Detach, SharesMemoryWithoutHistory) {
  const Tensor x = count_up({2});
  const Tensor y = detach(x);
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  EXPECT_FALSE(y.requires_grad());
}

}  // namespace
}  // namespace ebb
