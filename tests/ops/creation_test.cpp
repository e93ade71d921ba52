// tests/ops/creation_test.cpp -- dtypes and sizes of new tensors; arange; random numbers repeat.
#include "ebb/ops/impl/creation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/core/base/random.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Creation, FillsAndChoosesTheDtype) {
  EXPECT_EQ(floats(zeros(Shape{2})), (Floats{0, 0}));
  EXPECT_EQ(ones(Shape{2}, DType::int8).dtype(), DType::int8);
  EXPECT_EQ(full(Shape{}, 3).dtype(), DType::int64);
  EXPECT_EQ(full(Shape{}, 2.5).item<double>(), 2.5);
  EXPECT_EQ(full(Shape{}, true).dtype(), DType::boolean);
  EXPECT_EQ(zeros_like(count_up({2, 3})).dtype(), DType::float32);
  EXPECT_EQ(ints(ones_like(transpose(count_up({2, 1}), 0, 1), DType::int64)), (Ints{1, 1}));
}

TEST(Creation, RefusesBadSizes) {
  EXPECT_EQ(error_of<ShapeError>([] {
              zeros(Shape{2, -1});
            }),
            "zeros: sizes must not be negative, got [2, -1]");
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(error_of<ShapeError>([&] {
              ones(Shape{huge, huge});
            }),
            "ones: the number of bytes must fit into 63 bits, got sizes [1099511627776, "
            "1099511627776] of 4 bytes an element");
  EXPECT_NE(error_of<ValueError>([] { full(Shape{1}, 300, DType::uint8); }), "no error");
  const std::vector<int64_t> many(kMaxDims + 1, 1);
  EXPECT_NE(error_of<ShapeError>([&] { zeros(many); }), "no error");
}

TEST(Arange, CountsUpAndDown) {
  EXPECT_EQ(ints(arange(4)), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(ints(arange(1, 8, 3)), (Ints{1, 4, 7}));
  EXPECT_EQ(ints(arange(3, -4, -3)), (Ints{3, 0, -3}));
  EXPECT_EQ(arange(2, 2).numel(), 0);
  EXPECT_EQ(arange(4).dtype(), DType::int64);
}

TEST(Arange, OfFloatingNumbersIsFloat32) {
  const Tensor x = arange(0, 1, 0.25);
  EXPECT_EQ(x.dtype(), DType::float32);
  EXPECT_EQ(floats(x), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(arange(0, 3, 1, DType::float64).dtype(), DType::float64);
}

TEST(Arange, IsExactForLargeIntegers) {
  const int64_t last = INT64_MAX;
  EXPECT_EQ(ints(arange(last - 2, last)), (Ints{last - 2, last - 1}));
  EXPECT_NE(error_of<ShapeError>([&] { arange(-last, last - 2, 2); }), "no error");
  EXPECT_NE(error_of<ValueError>([&] { arange(-last, last); }), "no error");
}

TEST(Arange, RefusesBadNumbers) {
  EXPECT_EQ(error_of<ValueError>([] { arange(0, 5, 0); }),
            "arange: needs a step that is not 0, got start 0, end 5, step 0");
  EXPECT_EQ(error_of<ValueError>([] { arange(0, 5, -1); }),
            "arange: needs a step that leads to end, got start 0, end 5, step -1");
  EXPECT_NE(error_of<ValueError>([] { arange(INFINITY); }), "no error");
  EXPECT_NE(error_of<ValueError>([] { arange(NAN); }), "no error");
  EXPECT_NE(error_of<ValueError>([] { arange(0, 1e300, 1e-3); }), "no error");
  EXPECT_NE(error_of<DTypeError>([] { arange(std::complex<double>(1, 1)); }), "no error");
}

TEST(Random, RepeatsFromTheSameState) {
  const RandomState state = default_generator().state();
  const Floats first = floats(randn(Shape{100}));
  const Floats second = floats(randn(Shape{100}));
  EXPECT_NE(first, second);
  default_generator().set_state(state);
  EXPECT_EQ(floats(randn(Shape{100})), first);
  EXPECT_EQ(floats(randn(Shape{100})), second);
}

TEST(Random, HasTheRightMoments) {
  const Tensor normal = randn(Shape{20000}, DType::float64);
  EXPECT_NEAR(mean(normal).item<double>(), 0.0, 0.05);
  EXPECT_NEAR(mean(mul(normal, normal)).item<double>(), 1.0, 0.05);
  const Tensor even = rand(Shape{20000});
  EXPECT_NEAR(mean(even).item<double>(), 0.5, 0.02);
  EXPECT_LT(max(even).item<double>(), 1.0);
  EXPECT_GE(-max(neg(even)).item<double>(), 0.0);
}

}  // namespace
}  // namespace ebb
