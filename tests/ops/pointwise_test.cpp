// tests/ops/pointwise_test.cpp -- promotion, broadcasting, in-place and out= forms, refusals.
#include <gtest/gtest.h>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/ops/prepare.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

Tensor of_dtype(DType dtype, const Shape& shape = {2}) { return ones(shape, dtype); }

TEST(Promotion, OfTensorsIsThatOfTheTable) {
  EXPECT_EQ((of_dtype(DType::int32) + of_dtype(DType::int64)).dtype(), DType::int64);
  EXPECT_EQ((of_dtype(DType::int64) + of_dtype(DType::float16)).dtype(), DType::float16);
  EXPECT_EQ((of_dtype(DType::uint8) + of_dtype(DType::int8)).dtype(), DType::int16);
  EXPECT_EQ((of_dtype(DType::float64) + of_dtype(DType::complex64)).dtype(), DType::complex128);
}

TEST(Promotion, TreatsTensorsWithoutDimsAsWeak) {
  const Tensor x = of_dtype(DType::float32);
  EXPECT_EQ((x + of_dtype(DType::float64, {})).dtype(), DType::float32);
  EXPECT_EQ((of_dtype(DType::int32) + of_dtype(DType::int64, {})).dtype(), DType::int32);
  EXPECT_EQ((of_dtype(DType::int32) + of_dtype(DType::float64, {})).dtype(), DType::float64);
  EXPECT_EQ((of_dtype(DType::float32, {}) + of_dtype(DType::float64, {})).dtype(), DType::float64);
}

TEST(Promotion, TreatsNumbersAsWeakest) {
  EXPECT_EQ((of_dtype(DType::float16) * 2.5).dtype(), DType::float16);
  EXPECT_EQ((of_dtype(DType::int32) * 2.5).dtype(), DType::float32);
  EXPECT_EQ((of_dtype(DType::boolean) + 1).dtype(), DType::int64);
  EXPECT_EQ((of_dtype(DType::float16) * Scalar(std::complex<double>(0, 1))).dtype(),
            complex_type_of(DType::float16));
}

TEST(Promotion, DividesIntegersInFloat32) {
  const Tensor quotient = vector_of<int64_t>({1, 3}) / vector_of<int64_t>({2, 2});
  EXPECT_EQ(quotient.dtype(), DType::float32);
  EXPECT_EQ(floats(quotient), (Floats{0.5f, 1.5f}));
  EXPECT_EQ(exp(vector_of<bool>({true})).dtype(), DType::float32);
}

TEST(Pointwise, BroadcastsBothWays) {
  const Tensor column = reshape(count_up({2}), Shape{2, 1});
  EXPECT_EQ(floats(column * 10 + count_up({3})), (Floats{0, 1, 2, 10, 11, 12}));
  EXPECT_EQ(list((zeros(Shape{0, 3}) + count_up({3})).sizes()), (Ints{0, 3}));
}

TEST(Pointwise, TakesAnyStrides) {
  const Tensor x = transpose(count_up({2, 3}), 0, 1);
  EXPECT_EQ(floats(x + x), (Floats{0, 6, 2, 8, 4, 10}));
  EXPECT_EQ(floats(neg(x)), (Floats{0, -3, -1, -4, -2, -5}));
}

TEST(Pointwise, PutsANumberOnEitherSide) {
  const Tensor x = vector_of<float>({1, 4});
  EXPECT_EQ(floats(1 - x), (Floats{0, -3}));
  EXPECT_EQ(floats(2 / x), (Floats{2, 0.5f}));
  EXPECT_EQ(floats(x - 1), (Floats{0, 3}));
}

TEST(Pointwise, ComparesToBool) {
  const Tensor x = vector_of<float>({1, 2, 3});
  EXPECT_EQ((x > 2).dtype(), DType::boolean);
  EXPECT_EQ(ints(x > 1.5), (Ints{0, 1, 1}));
  EXPECT_EQ(ints(x < vector_of<int64_t>({2, 2, 2})), (Ints{1, 0, 0}));
  EXPECT_EQ(ints(eq(x, 2)), (Ints{0, 1, 0}));
}

TEST(Pointwise, SelectsWithWhere) {
  const Tensor x = vector_of<float>({1, -2, 3});
  EXPECT_EQ(floats(where(x > 0, x, 0)), (Floats{1, 0, 3}));
  EXPECT_EQ(floats(where(x > 0, 0, x)), (Floats{0, -2, 0}));
  EXPECT_EQ(where(x > 0, x, zeros(Shape{}, DType::float64)).dtype(), DType::float32);
}

TEST(Pointwise, ReturnsARealTensorAsItsOwnConjugate) {
  const Tensor x = vector_of<float>({1, 2});
  EXPECT_TRUE(conj(x).is_same(x));
}

TEST(Pointwise, AddsWithAFactor) {
  EXPECT_EQ(floats(add(count_up({2}), ones(Shape{2}), 3)), (Floats{3, 4}));
  EXPECT_EQ(floats(sub(count_up({2}), ones(Shape{2}), 3)), (Floats{-3, -2}));
}

TEST(Pointwise, MultipliesZeroByInfinityToZeroInMul0) {
  const Tensor inf = vector_of<float>({INFINITY, INFINITY});
  EXPECT_EQ(floats(mul0(vector_of<float>({0, 1}), inf)), (Floats{0, INFINITY}));
}

TEST(Pointwise, RefusesWhatItCannotTake) {
  const Tensor x = ones(Shape{2});
  EXPECT_EQ(
      error_of<ShapeError>([&] { add(x, ones(Shape{3})); }),
      "add: shapes must broadcast together, got input [2] and other [3] (sizes 2 and 3 differ in "
      "dim -1)");
  EXPECT_EQ(error_of<ValueError>([&] { add(x, Tensor()); }),
            "add: 'other' must be a tensor, got an undefined one");
  EXPECT_EQ(error_of<ValueError>([&] { neg(Tensor()); }),
            "neg: 'input' must be a tensor, got an undefined one");
  EXPECT_EQ(error_of<DTypeError>([&] { where(x, x, x); }),
            "where: 'condition' must have dtype bool, got float32");
  EXPECT_EQ(error_of<ValueError>([&] { add(of_dtype(DType::uint8), 300); }),
            "add: the number must fit into uint8, got 300");
}

TEST(Pointwise, RefusesToSubtractBools) {
  const Tensor flags = of_dtype(DType::boolean);
  EXPECT_EQ(error_of<DTypeError>([&] { sub(flags, flags); }),
            "sub: 'input' must have dtype uint8, int8, int16, int32, int64, float16, bfloat16, "
            "float32, float64, complex64, complex128, got bool");
}

TEST(InPlacePointwise, WritesSelfAndRaisesItsVersion) {
  const Tensor x = count_up({3});
  const Tensor& same = add_(x, ones(Shape{3}));
  EXPECT_TRUE(same.is_same(x));
  mul_(x, 2);
  EXPECT_EQ(floats(x), (Floats{2, 4, 6}));
  EXPECT_EQ(x.version(), 2u);
}

TEST(InPlacePointwise, KeepsShapeAndDtypeOfSelf) {
  const Tensor x = of_dtype(DType::float16, {2, 3});
  add_(x, ones(Shape{3}, DType::float64));
  EXPECT_EQ(x.dtype(), DType::float16);
  EXPECT_EQ(floats(x), Floats(6, 2.0f));
}

TEST(InPlacePointwise, RefusesWhatSelfCannotHold) {
  const Tensor x = ones(Shape{3});
  EXPECT_EQ(error_of<ShapeError>([&] {
              add_(x, ones(Shape{2, 3}));
            }),
            "add_: 'self' must have the broadcast shape [2, 3], got [3]");
  EXPECT_EQ(error_of<DTypeError>([&] { add_(of_dtype(DType::int64), 0.5); }),
            "add_: result type float32 can't be cast to the type of 'self', int64");
  EXPECT_EQ(floats(x), Floats(3, 1.0f));
}

TEST(InPlacePointwise, RefusesMemoryThatIsSharedWithinSelf) {
  const Tensor x = expand(ones(Shape{1}), Shape{3});
  EXPECT_EQ(error_of<ValueError>([&] { add_(x, x); }),
            "add_: no two elements of what is written may share memory, got shape [3] with strides "
            "[0]\nhint: clone() it first");
}

TEST(InPlacePointwise, RefusesReadOnlyMemory) {
  const Tensor x = ones(Shape{3});
  x.impl()->storage->mark_read_only();
  EXPECT_EQ(error_of<ValueError>([&] { add_(x, 1); }),
            "add_: the tensor that is written must be writable, got float32 [3] over read-only "
            "memory\nhint: clone() it first");
}

TEST(InPlacePointwise, ReadsOverlappingOperandsBeforeItWrites) {
  const Tensor x = count_up({4});
  add_(slice(x, 0, 1, 4), slice(x, 0, 0, 3));
  EXPECT_EQ(floats(x), (Floats{0, 1, 3, 5}));
  const Tensor square = count_up({2, 2});
  add_(square, transpose(square, 0, 1));
  EXPECT_EQ(floats(square), (Floats{0, 3, 3, 6}));
}

TEST(OutPointwise, WritesWhereItIsTold) {
  const Tensor out = empty(Shape{2}, DType::float64);
  const Tensor same = add_out(count_up({2}), ones(Shape{2}), out);
  EXPECT_TRUE(same.is_same(out));
  EXPECT_EQ(floats(out), (Floats{1, 2}));
  EXPECT_EQ(error_of<ShapeError>([&] { add_out(count_up({3}), ones(Shape{3}), out); }),
            "add_out: 'out' must have the broadcast shape [3], got [2]");
}

}  // namespace
}  // namespace ebb
