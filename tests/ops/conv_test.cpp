// tests/ops/conv_test.cpp -- convolution and pooling on numbers checked by hand.
#include "ebb/ops/impl/conv.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/adaptive_max_pool1d.h"
#include "ebb/autograd/ops/avg_pool1d.h"
#include "ebb/autograd/ops/conv1d.h"
#include "ebb/autograd/ops/conv2d.h"
#include "ebb/autograd/ops/conv_transpose1d.h"
#include "ebb/autograd/ops/max_pool1d.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

constexpr int64_t kOne[] = {1}, kZero[] = {0}, kTwo[] = {2};

TEST(Convolution, CorrelatesAndAddsTheBias) {
  const Tensor x = tensor_of<float>({1, 2, 3, 4, 5}, {1, 1, 5});
  const Tensor w = tensor_of<float>({1, 0, -1, 1, 1, 1}, {2, 1, 3});
  const Tensor out = conv1d(x, w, vector_of<float>({10, 20}), kTwo, kOne);
  // Padded: 0 1 2 3 4 5 0, windows at 0, 2 and 4.
  EXPECT_EQ(values_of<float>(out), (std::vector<float>{8, 8, 14, 23, 29, 29}));
}

TEST(Convolution, GoesBackToInputAndWeight) {
  const Tensor x = tensor_of<double>({1, 2, 3}, {1, 1, 3});
  const Tensor w = tensor_of<double>({5, 7}, {1, 1, 2});
  const Tensor grad = tensor_of<double>({1, 10}, {1, 1, 2});
  const Tensor to_input =
      ops::impl::convolution_backward_input(grad, w, x.sizes(), kOne, kZero, kOne, false, kZero, 1);
  EXPECT_EQ(values_of<double>(to_input), (std::vector<double>{5, 57, 70}));
  const Tensor to_weight = ops::impl::convolution_backward_weight(grad, x, w.sizes(), kOne, kZero,
                                                                  kOne, false, kZero, 1);
  EXPECT_EQ(values_of<double>(to_weight), (std::vector<double>{21, 32}));
}

TEST(Convolution, TransposedIsTheGradientWithRespectToTheInput) {
  const Tensor y = tensor_of<float>({1, 2}, {1, 1, 2});
  const Tensor w = tensor_of<float>({3, 4, 5}, {1, 1, 3});
  EXPECT_EQ(values_of<float>(conv_transpose1d(y, w, vector_of<float>({1}), kTwo)),
            (std::vector<float>{4, 5, 12, 9, 11}));
}

TEST(Convolution, OfNoChannelsIsTheBias) {
  const Tensor out = conv1d(zeros(Shape{1, 0, 3}), zeros(Shape{2, 0, 2}), vector_of<float>({1, 2}));
  EXPECT_EQ(values_of<float>(out), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(conv1d(zeros(Shape{0, 1, 3}), zeros(Shape{2, 1, 2})).numel(), 0);
}

TEST(Convolution, NeedsEqualDtypesAndRanks) {
  const Tensor w = zeros(Shape{1, 1, 1});
  EXPECT_EQ(error_of<DTypeError>([&] {
              conv1d(zeros(Shape{1, 1, 1}, DType::float64), w);
            }),
            "conv1d: input and weight need one dtype, got float64 [1, 1, 1] and float32 [1, 1, 1]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(zeros(Shape{1, 1, 1}), w);
            }),
            "conv2d: weight needs exactly 4 dims, got float32 [1, 1, 1]");
}

TEST(Pool, FindsMeansAndMaxima) {
  const Tensor x = tensor_of<float>({1, 5, 2, 4, 3}, {1, 5});
  EXPECT_EQ(values_of<float>(max_pool1d(x, kTwo)), (std::vector<float>{5, 4}));
  EXPECT_EQ(values_of<float>(max_pool1d(x, kTwo, std::nullopt, kZero, kOne, true)),
            (std::vector<float>{5, 4, 3}));
  EXPECT_EQ(values_of<float>(avg_pool1d(x, kTwo)), (std::vector<float>{3, 3}));
  EXPECT_EQ(values_of<int64_t>(std::get<1>(adaptive_max_pool1d(x, kTwo))), (Ints{1, 3}));
}

TEST(Pool, TellsPaddingFromElements) {
  const Tensor x = tensor_of<float>({-1, -2, -3}, {1, 3});
  EXPECT_EQ(values_of<float>(max_pool1d(x, kTwo, kOne, kOne)),
            (std::vector<float>{-1, -1, -2, -3}));
  EXPECT_EQ(values_of<float>(avg_pool1d(x, kTwo, kTwo, kOne)), (std::vector<float>{-0.5f, -2.5f}));
  EXPECT_EQ(values_of<float>(avg_pool1d(x, kTwo, kTwo, kOne, false, false)),
            (std::vector<float>{-1, -2.5f}));
}

}  // namespace
}  // namespace ebb
