// tests/ops/index_test.cpp -- gather, scatter_add, index_select, index_add and their refusals.
#include "ebb/ops/impl/index.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Gather, ReadsAtTheIndex) {
  const Tensor x = count_up({2, 3});
  const Tensor index = tensor_of<int64_t>({2, 0, 1, 1}, {2, 2});
  EXPECT_EQ(floats(gather(x, 1, index)), (Floats{2, 0, 4, 4}));
  EXPECT_EQ(floats(gather(x, 0, tensor_of<int64_t>({1, 0}, {1, 2}))), (Floats{3, 1}));
  EXPECT_EQ(floats(gather(x, -1, tensor_of<int32_t>({1}, {1, 1}))), Floats{1});
  EXPECT_EQ(gather(x, 0, zeros(Shape{0, 3}, DType::int64)).numel(), 0);
}

TEST(Gather, RefusesBadIndices) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(error_of<IndexError>([&] {
              gather(x, 0, tensor_of<int64_t>({0, 2, 1}, {1, 3}));
            }),
            "gather: index must be at least 0 and below 2, got 2 at position [0, 1]");
  EXPECT_EQ(error_of<IndexError>([&] {
              gather(x, 1, tensor_of<int64_t>({-1}, {1, 1}));
            }),
            "gather: index must be at least 0 and below 3, got -1 at position [0, 0]");
  EXPECT_EQ(error_of<ShapeError>([&] { gather(x, 0, vector_of<int64_t>({0})); }),
            "gather: index needs the dims of input and no larger size but in dim 0, got index "
            "int64 [1] and input float32 [2, 3]");
  EXPECT_NE(error_of<DTypeError>([&] { gather(x, 0, count_up({1, 1})); }), "no error");
}

TEST(ScatterAdd, AddsAtTheIndexAndKeepsTheInput) {
  const Tensor x = count_up({3});
  const Tensor out =
      scatter_add(x, 0, vector_of<int64_t>({0, 0, 2}), vector_of<float>({1, 2, 4, 100}));
  EXPECT_EQ(floats(out), (Floats{3, 1, 6}));
  EXPECT_EQ(floats(x), (Floats{0, 1, 2}));
}

TEST(ScatterAdd, InPlaceWritesAndRaisesTheVersion) {
  const Tensor x = zeros(Shape{2, 2});
  scatter_add_(x, 1, tensor_of<int64_t>({1, 1, 0, 1}, {2, 2}), count_up({2, 2}));
  EXPECT_EQ(floats(x), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(error_of<IndexError>([&] {
              scatter_add_(x, 0, full(Shape{1, 1}, 2), ones(Shape{1, 1}));
            }),
            "scatter_add_: index must be at least 0 and below 2, got 2 at position [0, 0]");
  EXPECT_EQ(x.version(), 1u);  // refused before anything was written
}

TEST(ScatterAdd, RefusesASourceThatIsTooSmall) {
  const Tensor x = count_up({3});
  EXPECT_EQ(
      error_of<ShapeError>([&] { scatter_add(x, 0, zeros_like(x, DType::int64), count_up({2})); }),
      "scatter_add: index needs the dims of src and no larger size, got index int64 [3] and "
      "src float32 [2]");
  EXPECT_EQ(error_of<DTypeError>([&] {
              scatter_add(x, 0, zeros_like(x, DType::int64), count_up({3}, DType::float64));
            }),
            "scatter_add: input and src need one dtype, got float32 [3] and float64 [3]");
}

TEST(IndexSelect, TakesSlices) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(floats(index_select(x, 1, vector_of<int64_t>({2, 2, 0}))), (Floats{2, 2, 0, 5, 5, 3}));
  EXPECT_EQ(floats(index_select(x, 0, full(Shape{}, 1))), (Floats{3, 4, 5}));
  EXPECT_EQ(index_select(x, 0, zeros(Shape{0}, DType::int64)).numel(), 0);
  EXPECT_EQ(error_of<IndexError>([&] {
              index_select(x, 0, vector_of<int64_t>({0, 2}));
            }),
            "index_select: index must be at least 0 and below 2, got 2 at position [1]");
}

TEST(IndexAdd, AddsSlicesInTheOrderOfTheIndex) {
  const Tensor x = zeros(Shape{3, 2});
  const Tensor out = index_add(x, 0, vector_of<int64_t>({1, 1, 0}), count_up({3, 2}), 2);
  EXPECT_EQ(floats(out), (Floats{8, 10, 4, 8, 0, 0}));
  index_add_(x, 1, vector_of<int64_t>({1}), ones(Shape{3, 1}));
  EXPECT_EQ(floats(x), (Floats{0, 1, 0, 1, 0, 1}));
}

TEST(IndexAdd, RefusesWhatDoesNotFit) {
  const Tensor x = zeros(Shape{3, 2});
  EXPECT_EQ(error_of<ShapeError>([&] {
              index_add(x, 0, vector_of<int64_t>({0}), ones(Shape{2, 2}));
            }),
            "index_add: source needs one slice of input per index in dim 0, got source float32 "
            "[2, 2], index int64 [1], input float32 [3, 2]");
  EXPECT_EQ(error_of<DTypeError>([] {
              index_add(zeros(Shape{1}, DType::int64), 0, vector_of<int64_t>({0}),
                        ones(Shape{1}, DType::int64), 0.5);
            }),
            "index_add: alpha must not be of a wider kind than input, got 0.5 for int64 [1]");
}

TEST(Index, ZeroDimTensorsCountAsOneElement) {
  const Tensor scalar = full(Shape{}, 5.0);
  const Tensor zero = zeros(Shape{}, DType::int64);
  EXPECT_EQ(floats(gather(scalar, 0, zero)), Floats{5});
  EXPECT_EQ(floats(index_select(scalar, 0, zero)), Floats{5});
  EXPECT_EQ(floats(scatter_add(scalar, 0, zero, scalar)), Floats{10});
}

}  // namespace
}  // namespace ebb
