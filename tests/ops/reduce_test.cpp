// tests/ops/reduce_test.cpp -- which dims sum, mean and max reduce, and what dtype comes out.
#include "ebb/ops/impl/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Sum, ReducesTheDimsAskedFor) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(floats(sum(x)), Floats{15});
  EXPECT_EQ(floats(sum(x, Shape{})), Floats{15});
  EXPECT_EQ(floats(sum(x, Shape{0})), (Floats{3, 5, 7}));
  EXPECT_EQ(floats(sum(x, Shape{-1})), (Floats{3, 12}));
  EXPECT_EQ(list(sum(x, Shape{0, 1}).sizes()), Ints{});
  EXPECT_EQ(list(sum(x, Shape{1}, true).sizes()), (Ints{2, 1}));
}

TEST(Sum, OfIntegersAndBoolIsInt64) {
  EXPECT_EQ(sum(count_up({3}, DType::int8)).dtype(), DType::int64);
  EXPECT_EQ(sum(greater(count_up({3}), 0)).item<int64_t>(), 2);
  EXPECT_EQ(sum(count_up({3}), {}, false, DType::float64).dtype(), DType::float64);
  EXPECT_EQ(sum(count_up({300}, DType::int16), {}, false, DType::uint8).item<int64_t>(),
            44850 % 256);
}

TEST(Sum, OfNothingIsZero) {
  EXPECT_EQ(floats(sum(count_up({0}))), Floats{0});
  EXPECT_EQ(floats(sum(count_up({0, 2}), Shape{0})), (Floats{0, 0}));
  EXPECT_EQ(sum(count_up({2, 0}), Shape{0}).numel(), 0);
}

TEST(Sum, OfAZeroDimTensorIsItself) {
  const Tensor x = reshape(vector_of<float>({4}), Shape{});
  EXPECT_EQ(floats(sum(x)), Floats{4});
  EXPECT_EQ(floats(sum(x, Shape{0})), Floats{4});
  EXPECT_EQ(floats(sum(x, Shape{-1}, true)), Floats{4});
}

TEST(Sum, RefusesBadDims) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<IndexError>([&] { sum(x, Shape{2}); }),
            "sum: dim must be from -2 to 1, got 2 for float32 [2, 3]");
  EXPECT_EQ(error_of<ValueError>([&] {
              sum(x, Shape{1, -1});
            }),
            "sum: each dim may appear once, got dim -1 twice in [1, -1]");
}

TEST(Mean, DividesByTheCount) {
  EXPECT_EQ(floats(mean(count_up({2, 3}))), Floats{2.5f});
  EXPECT_EQ(floats(mean(count_up({2, 3}), Shape{1})), (Floats{1, 4}));
  EXPECT_TRUE(std::isnan(mean(count_up({0})).item<float>()));
  EXPECT_EQ(mean(count_up({3}, DType::int64), {}, false, DType::float64).item<double>(), 1.0);
  EXPECT_EQ(error_of<DTypeError>([] { mean(count_up({3}, DType::int64)); }),
            "mean: needs a floating or complex dtype, got int64 [3]\nhint: pass dtype=float32");
}

TEST(Max, IsTheLargestAndNanWins) {
  EXPECT_EQ(max(vector_of<float>({1, 5, 2})).item<float>(), 5.0f);
  EXPECT_EQ(max(vector_of<int32_t>({-3, -5})).item<int64_t>(), -3);
  EXPECT_TRUE(std::isnan(max(vector_of<float>({1, NAN, 2})).item<float>()));
  EXPECT_EQ(error_of<ValueError>([] {
              max(count_up({0, 2}));
            }),
            "max: needs at least one element, got float32 [0, 2]");
  EXPECT_NE(error_of<DTypeError>([] { max(count_up({2}, DType::complex64)); }), "no error");
}

TEST(Max, AlongADimTellsWhere) {
  const Tensor x = tensor_of<float>({1, 7, 3, 9, 9, 2}, {2, 3});
  const auto [values, indices] = max(x, 1);
  EXPECT_EQ(floats(values), (Floats{7, 9}));
  EXPECT_EQ(ints(indices), (Ints{1, 0}));
  EXPECT_EQ(indices.dtype(), DType::int64);
  EXPECT_EQ(list(std::get<0>(max(x, 0, true)).sizes()), (Ints{1, 3}));
}

TEST(Max, AlongADimHandlesZeroDimsAndRefusesEmptyOnes) {
  const Tensor scalar = reshape(vector_of<float>({4}), Shape{});
  const auto [values, indices] = max(scalar, -1);
  EXPECT_EQ(floats(values), Floats{4});
  EXPECT_EQ(ints(indices), Ints{0});
  EXPECT_EQ(std::get<0>(max(count_up({0, 2}), 1)).numel(), 0);
  EXPECT_EQ(error_of<IndexError>([] {
              max(count_up({0, 2}), 0);
            }),
            "max: dim 0 needs at least one element, got float32 [0, 2]");
}

}  // namespace
}  // namespace ebb
