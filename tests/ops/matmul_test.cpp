// tests/ops/matmul_test.cpp -- every pair of ranks of matmul against plain loops; linear.
#include "ebb/ops/impl/matmul.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

/// matmul by loops over matrices of the last two dims, both operands expanded by hand.
Floats product_of(const Tensor& left, const Tensor& right) {
  const int64_t rows = left.size(-2), inner = left.size(-1), columns = right.size(-1);
  const Floats a = floats(left), b = floats(right);
  const int64_t batch = left.numel() / std::max<int64_t>(rows * inner, 1);
  Floats out;
  for (int64_t which = 0; which < batch; ++which) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        float total = 0;
        for (int64_t k = 0; k < inner; ++k) {
          total += a[static_cast<size_t>((which * rows + row) * inner + k)] *
                   b[static_cast<size_t>((which * inner + k) * columns + column)];
        }
        out.push_back(total);
      }
    }
  }
  return out;
}

TEST(Matmul, OfVectorsIsADotProduct) {
  const Tensor out = matmul(vector_of<float>({1, 2, 3}), vector_of<float>({4, 5, 6}));
  EXPECT_EQ(out.ndim(), 0);
  EXPECT_EQ(floats(out), Floats{32});
}

TEST(Matmul, TreatsAVectorAsRowOrColumn) {
  const Tensor matrix = count_up({2, 3});
  EXPECT_EQ(floats(matmul(matrix, vector_of<float>({1, 0, 2}))), (Floats{4, 13}));
  EXPECT_EQ(floats(matmul(vector_of<float>({1, 2}), matrix)), (Floats{6, 9, 12}));
  EXPECT_EQ(list(matmul(count_up({4, 2, 3}), count_up({3})).sizes()), (Ints{4, 2}));
  EXPECT_EQ(list(matmul(count_up({2}), count_up({4, 2, 3})).sizes()), (Ints{4, 3}));
}

TEST(Matmul, OfMatricesAgreesWithLoops) {
  const Tensor left = count_up({3, 5}), right = count_up({5, 4});
  EXPECT_EQ(floats(matmul(left, right)), product_of(left, right));
  const Tensor turned = transpose(count_up({4, 5}), 0, 1);
  EXPECT_EQ(floats(matmul(left, turned)), product_of(left, turned));
  EXPECT_EQ(floats(matmul(transpose(turned, 0, 1), transpose(left, 0, 1))),
            product_of(transpose(turned, 0, 1), transpose(left, 0, 1)));
}

TEST(Matmul, BroadcastsLeadingDims) {
  const Tensor left = count_up({2, 1, 2, 3}), right = count_up({5, 3, 2});
  const Tensor out = matmul(left, right);
  EXPECT_EQ(list(out.sizes()), (Ints{2, 5, 2, 2}));
  EXPECT_EQ(floats(out),
            product_of(expand(left, Shape{2, 5, 2, 3}), expand(right, Shape{2, 5, 3, 2})));
}

TEST(Matmul, FoldsRowsOverOneMatrix) {
  const Tensor left = count_up({2, 3, 4}), right = count_up({4, 2});
  EXPECT_EQ(floats(matmul(left, right)), product_of(left, expand(right, Shape{2, 4, 2})));
  const Tensor strided = transpose(count_up({3, 2, 4}), 0, 1);  // does not fold
  EXPECT_EQ(floats(matmul(strided, right)), product_of(strided, expand(right, Shape{2, 4, 2})));
}

TEST(Matmul, OverNoInnerElementIsZero) {
  EXPECT_EQ(floats(matmul(count_up({2, 0}), count_up({0, 2}))), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(floats(matmul(count_up({0}), count_up({0}))), Floats{0});
  EXPECT_EQ(matmul(count_up({0, 3}), count_up({3, 2})).numel(), 0);
}

TEST(Matmul, WorksForIntegersAndComplex) {
  EXPECT_EQ(ints(matmul(count_up({2, 2}, DType::int64), count_up({2, 2}, DType::int64))),
            (Ints{2, 3, 6, 11}));
  using Complex = std::complex<float>;
  const Tensor x = vector_of<Complex>({Complex(0, 1), Complex(2, 0)});
  EXPECT_EQ(matmul(x, x).data<Complex>()[0], Complex(3, 0));
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of<ShapeError>([] {
              matmul(count_up({2, 3}), count_up({2, 3}));
            }),
            "matmul: inner sizes must agree, got float32 [2, 3] and float32 [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([] {
              matmul(count_up({2, 1, 3}), count_up({3, 3, 1}));
            }),
            "matmul: leading sizes must broadcast together, got float32 [2, 1, 3] and float32 "
            "[3, 3, 1]");
  EXPECT_EQ(error_of<DTypeError>([] { matmul(count_up({2}), count_up({2}, DType::float64)); }),
            "matmul: input and other need one dtype, got float32 [2] and float64 [2]");
  EXPECT_EQ(error_of<ShapeError>([] { matmul(sum(count_up({2})), count_up({2})); }),
            "matmul: input and other need at least 1 dim, got float32 [] and float32 [2]");
}

TEST(Linear, IsAProductWithTheTransposePlusBias) {
  const Tensor x = count_up({2, 3}), weight = count_up({2, 3}), bias = vector_of<float>({10, 20});
  EXPECT_EQ(floats(linear(x, weight, bias)), (Floats{15, 34, 24, 70}));
  EXPECT_EQ(floats(linear(x, weight)), (Floats{5, 14, 14, 50}));
}

TEST(Linear, TakesInputsOfAnyRank) {
  const Tensor weight = count_up({2, 3});
  EXPECT_EQ(floats(linear(vector_of<float>({0, 1, 2}), weight)), (Floats{5, 14}));
  const Tensor x = count_up({2, 2, 3});
  const Tensor rows = reshape(linear(reshape(x, Shape{4, 3}), weight), Shape{2, 2, 2});
  EXPECT_EQ(floats(linear(x, weight)), floats(rows));
  EXPECT_EQ(floats(linear(transpose(x, 0, 1), weight)), floats(transpose(rows, 0, 1)));
  EXPECT_EQ(list(linear(count_up({0, 5, 3}), weight).sizes()), (Ints{0, 5, 2}));
}

TEST(Linear, IgnoresTheStrideOfADimOfOneElement) {
  const Tensor input = transpose(count_up({1, 2, 2}), 0, 1);  // sizes 2, 1, 2, strides 2, 4, 1
  const Tensor out = linear(input, tensor_of<float>({1, 10}, {1, 2}));
  EXPECT_EQ(floats(out), (Floats{10, 32}));
  EXPECT_EQ(floats(matmul(input, tensor_of<float>({1, 10}, {2, 1}))), (Floats{10, 32}));
}

TEST(Linear, RefusesWhatDoesNotFit) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<ShapeError>([&] {
              linear(x, count_up({4, 2}));
            }),
            "linear: the last size of input must be the last of weight, got float32 [2, 3] and "
            "float32 [4, 2]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              linear(x, count_up({4, 3}), count_up({3}));
            }),
            "linear: bias must hold one element per row of weight, got float32 [3] and weight "
            "float32 [4, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] { linear(x, count_up({3})); }),
            "linear: weight needs exactly 2 dims, got float32 [3]");
}

TEST(Linear, AddsTheBiasToEveryBlockOfALargeResult) {
  const Tensor input = randn(Shape{5, 60, 128});
  const Tensor weight = randn(Shape{200, 128});
  const Tensor bias = randn(Shape{200});
  const Tensor got = linear(input, weight, bias);
  const Tensor want = add(matmul(input, transpose(weight, 0, 1)), bias);
  EXPECT_LT(max(mul(sub(got, want), sub(got, want))).item<float>(), 1e-7f);
}

}  // namespace
}  // namespace ebb
