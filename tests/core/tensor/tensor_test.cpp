// tests/core/tensor/tensor_test.cpp -- the handle: sharing, geometry, views, single elements, byte
// ranges.
#include "ebb/core/tensor/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

TEST(Tensor, HasNoSizeOfADimThatIsNotThere) {
  EXPECT_EQ(empty(Shape{2, 3}, DType::float32).size(-1), 3);
  EXPECT_EQ(error_of<IndexError>([] { empty(Shape{}, DType::float32).size(0); }),
            "size: needs a dim, got 0 for a tensor without dims");
}

TEST(Tensor, OfForeignMemoryHasAtMostSoManyDims) {
  float memory = 1;
  const std::vector<int64_t> many(kMaxDims + 1, 1);
  const auto refused = [&] {
    from_blob(&memory, many, many, DType::float32, sizeof memory, nullptr, nullptr);
  };
  EXPECT_EQ(error_of<ShapeError>(refused),
            str("from_blob: needs at most ", kMaxDims, " dimensions, got ", kMaxDims + 1));
}

TEST(Tensor, ThatRunsBackwardsTouchesTheBytesBeforeItsFirstElement) {
  const Tensor base = empty(Shape{6}, DType::float32);
  const Tensor reversed = make_view(base, Shape{4}, Shape{-1}, 4);
  EXPECT_EQ(byte_range(reversed).first, 4u);
  EXPECT_EQ(byte_range(reversed).last, 19u);
}

/// 0, 1, 2, ... as float32.
Tensor counting(const Shape& shape) {
  const Tensor out = empty(shape, DType::float32);
  for (int64_t index = 0; index < out.numel(); ++index) {
    out.data<float>()[index] = static_cast<float>(index);
  }
  return out;
}

/// The transposed view of a matrix.
Tensor transposed(const Tensor& matrix) {
  const Shape sizes = {matrix.size(1), matrix.size(0)};
  const Shape strides = {matrix.strides()[1], matrix.strides()[0]};
  return make_view(matrix, sizes, strides, matrix.storage_offset());
}

uint32_t owners_of(const Tensor& tensor) { return tensor.impl()->refs.value(); }

TEST(Tensor, IsUndefinedUntilItHoldsSomething) {
  const Tensor nothing;
  EXPECT_FALSE(nothing.defined());
  EXPECT_FALSE(nothing.requires_grad());
  EXPECT_EQ(nothing.gate_bits(), gate::kUndefined);
  EXPECT_EQ(error_of<ValueError>([&] { nothing.sizes(); }),
            "tensor: needs a defined tensor, got an undefined one");
  EXPECT_THROW(nothing.dtype(), ValueError);
  EXPECT_THROW(nothing.item_scalar(), ValueError);
}

TEST(Tensor, SharesItsImplWhenCopied) {
  const Tensor tensor = empty(Shape{2}, DType::float32);
  EXPECT_EQ(owners_of(tensor), 1u);
  {
    const Tensor copy = tensor;
    EXPECT_TRUE(copy.is_same(tensor));
    EXPECT_EQ(owners_of(tensor), 2u);
  }
  EXPECT_EQ(owners_of(tensor), 1u);
}

TEST(Tensor, IsLeftUndefinedWhenMovedFrom) {
  Tensor tensor = empty(Shape{2}, DType::float32);
  const Tensor moved = std::move(tensor);
  EXPECT_FALSE(tensor.defined());  // NOLINT: that is the question
  EXPECT_EQ(owners_of(moved), 1u);
}

TEST(Tensor, SurvivesAssignmentToItself) {
  Tensor tensor = counting({3});
  const Tensor& same = tensor;
  tensor = same;
  EXPECT_EQ(owners_of(tensor), 1u);
  tensor = std::move(const_cast<Tensor&>(same));
  ASSERT_TRUE(tensor.defined());
  EXPECT_EQ(tensor.data<float>()[2], 2.0f);
}

TEST(Tensor, LeaksAndAdoptsOneCount) {
  Tensor tensor = empty(Shape{2}, DType::float32);
  TensorImpl* const impl = tensor.leak();
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(owners_of(Tensor::adopt(impl)), 1u);
}

TEST(Tensor, GivesEverythingBackWithItsLastHandle) {
  const int64_t before = memory_stats().live;
  {
    const Tensor tensor = counting({4, 5});
    const Tensor view = transposed(tensor);
    const Tensor deep = empty(Shape{1, 1, 1, 1, 1, 1, 1}, DType::int8);
  }
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Tensor, KnowsItsGeometry) {
  const Tensor tensor = empty(Shape{2, 3, 4}, DType::int16);
  EXPECT_EQ(tensor.ndim(), 3);
  EXPECT_EQ(tensor.numel(), 24);
  EXPECT_EQ(tensor.nbytes(), 48u);
  EXPECT_EQ(tensor.size(-1), 4);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(error_of<IndexError>([&] { tensor.size(3); }), "size: dim must be from -3 to 2, got 3");
}

TEST(Tensor, HoldsAsManyDimsAsAShape) {
  const std::vector<int64_t> ones(32, 1);
  const Tensor tensor = empty(ones, DType::float32);
  EXPECT_EQ(tensor.ndim(), 32);
  EXPECT_EQ(tensor.strides()[31], 1);
  const std::vector<int64_t> more(33, 1);
  EXPECT_EQ(error_of<ShapeError>([&] { empty(more, DType::float32); }),
            "empty: needs at most 32 dimensions, got 33");
}

TEST(Tensor, RefusesADataPointerOfAnotherType) {
  const Tensor tensor = empty(Shape{2}, DType::float32);
  EXPECT_EQ(error_of<DTypeError>([&] { tensor.data<double>(); }),
            "data: the element type is float32, got a request for float64");
}

TEST(Tensor, ReadsItsOnlyElementAsAnyType) {
  const Tensor tensor = empty(Shape{1, 1}, DType::float32);
  tensor.data<float>()[0] = 2.5f;
  EXPECT_EQ(tensor.item<float>(), 2.5f);
  EXPECT_EQ(tensor.item<int64_t>(), 2);
  EXPECT_TRUE(tensor.item<bool>());
  EXPECT_EQ(tensor.item<std::complex<double>>(), std::complex<double>(2.5));
}

TEST(Tensor, HasNoItemUnlessItHasOneElement) {
  EXPECT_EQ(error_of<ValueError>([] {
              empty(Shape{2, 3}, DType::int8).item_scalar();
            }),
            "item: needs a tensor of one element, got shape [2, 3]\n"
            "hint: reduce it first, as by x.mean(), or take all by x.tolist()");
  EXPECT_THROW(empty(Shape{0}, DType::int8).item_scalar(), ValueError);
}

TEST(View, SharesMemoryVersionAndDevice) {
  const Tensor base = counting({2, 3});
  const Tensor view = transposed(base);
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_EQ(view.data<float>()[view.strides()[0]], 1.0f);
  base.impl()->storage->note_write("test", 0, ByteRegion::dense(0, 1));
  EXPECT_EQ(view.version(), 1u);
}

TEST(View, KeepsItsMemoryAfterTheBaseIsGone) {
  const Tensor row = make_view(counting({2, 3}), Shape{3}, Shape{1}, 3);
  EXPECT_EQ(row.storage_offset(), 3);
  EXPECT_EQ(row.data<float>()[0], 3.0f);
  EXPECT_TRUE(row.is_contiguous());
}

TEST(View, KeepsTheStridesOfItsSourceWhenDetached) {
  const Tensor view = transposed(counting({2, 3}));
  const Tensor plain = detached(view);
  EXPECT_FALSE(plain.is_same(view));
  EXPECT_EQ(plain.data_ptr(), view.data_ptr());
  EXPECT_TRUE(equal(plain.strides(), view.strides()));
  EXPECT_EQ(plain.impl()->storage, view.impl()->storage);
}

TEST(EmptyLike, IsContiguousEvenIfItsModelIsNot) {
  const Tensor model = transposed(counting({2, 3}));
  const Tensor made = empty_like(model, DType::float64);
  EXPECT_TRUE(made.is_contiguous());
  EXPECT_TRUE(equal(made.sizes(), Shape{3, 2}));
  EXPECT_TRUE(equal(made.strides(), Shape{2, 1}));
  EXPECT_EQ(made.dtype(), DType::float64);
}

TEST(EmptyLike, CopiesManyDims) {
  const Tensor model = empty(Shape{1, 2, 1, 2, 1, 2}, DType::float32);
  const Tensor made = empty_like(model, DType::float32);
  EXPECT_TRUE(equal(made.sizes(), model.sizes()));
  EXPECT_TRUE(equal(made.strides(), model.strides()));
}

TEST(ByteRange, SpansWhatElementsTouch) {
  const Tensor base = counting({4, 4});
  const Tensor column = make_view(base, Shape{4}, Shape{4}, 1);
  EXPECT_EQ(byte_range(column).first, 4u);
  EXPECT_EQ(byte_range(column).last, 55u);  // element 13 ends at byte 55
  EXPECT_EQ(byte_range(base).last, 63u);
}

TEST(ByteRange, IsEmptyWithoutElements) {
  EXPECT_TRUE(byte_range(empty(Shape{0, 3}, DType::float32)).empty);
  EXPECT_FALSE(byte_range(empty(Shape{}, DType::float32)).empty);
}

TEST(Overlap, IsFoundInStretchedTensorsOnly) {
  const Tensor base = counting({3});
  EXPECT_TRUE(has_internal_overlap(make_view(base, Shape{2, 3}, Shape{0, 1}, 0)));
  EXPECT_FALSE(has_internal_overlap(make_view(base, Shape{1, 3}, Shape{0, 1}, 0)));
  EXPECT_FALSE(has_internal_overlap(make_view(base, Shape{2, 0}, Shape{0, 1}, 0)));
  EXPECT_FALSE(has_internal_overlap(base));
}

TEST(Tensor, LeavesNothingBehindWhenAnAllocationFails) {
  const int64_t before = memory_stats().live;
  for (int successes = 0; successes < 2; ++successes) {
    fail_allocation_after(successes);
    EXPECT_THROW(empty(Shape{100}, DType::float32), OutOfMemoryError) << successes;
    fail_allocation_after(-1);
    EXPECT_EQ(memory_stats().live, before) << successes;
  }
}

TEST(View, LeavesItsBaseAloneWhenAnAllocationFails) {
  const Tensor base = counting({2, 3});
  fail_allocation_after(0);
  EXPECT_THROW(transposed(base), OutOfMemoryError);
  fail_allocation_after(0);
  EXPECT_THROW(detached(base), OutOfMemoryError);
  fail_allocation_after(-1);
  EXPECT_TRUE(base.impl()->storage->is_unique());
}

}  // namespace
}  // namespace ebb
