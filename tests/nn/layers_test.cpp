// tests/nn/layers_test.cpp -- layers and containers.
#include "ebb/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_dense.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/random.h"
#include "ebb/nn/containers.h"
#include "tests/ops/op_test_support.h"

namespace ebb::nn {
namespace {

TEST(Linear, MultipliesAndAdds) {
  Linear layer(2, 1);
  copy_(detached(layer.weight), tensor_of<float>({2, 3}, Shape{1, 2}));
  copy_(detached(layer.bias), tensor_of<float>({10}, Shape{1}));
  EXPECT_EQ(floats(layer(tensor_of<float>({1, 1, 0, 2}, Shape{2, 2}))), (Floats{15, 16}));
}

TEST(Linear, WorksWithoutBias) {
  Linear layer(2, 1, false);
  EXPECT_EQ(layer.parameters().size(), 1u);
  copy_(detached(layer.weight), tensor_of<float>({2, 3}, Shape{1, 2}));
  EXPECT_EQ(floats(layer(tensor_of<float>({1, 1}, Shape{1, 2}))), Floats{5});
}

TEST(Linear, DrawsWithinItsBoundAndRepeatsWithTheSeed) {
  default_generator().set_seed(3);
  const Linear first(16, 64);
  default_generator().set_seed(3);
  const Linear second(16, 64);
  EXPECT_EQ(floats(first.weight), floats(second.weight));
  EXPECT_EQ(floats(first.bias), floats(second.bias));
  float largest = 0;
  for (const float value : floats(first.weight)) largest = std::max(largest, std::fabs(value));
  EXPECT_LE(largest, 0.25f);  // 1 / sqrt(16)
  EXPECT_GT(largest, 0.24f);
}

TEST(Linear, RefusesNegativeSizes) {
  try {
    Linear(-1, 2);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(), "Linear: needs sizes >= 0, got -1 and 2");
  }
}

TEST(Flatten, JoinsDims) {
  EXPECT_EQ(Flatten()(ones(Shape{2, 3, 4})).shape(), (Shape{2, 12}));
  EXPECT_EQ(Flatten(0, 1)(ones(Shape{2, 3, 4})).shape(), (Shape{6, 4}));
}

TEST(Identity, ReturnsItsInput) {
  const Tensor x = ones(Shape{2});
  EXPECT_TRUE(Identity()(x).is_same(x));
}

TEST(Embedding, LooksRowsUpAndSparesThePadding) {
  Embedding table(4, 2, {.padding_idx = 1});
  const Tensor result = table(vector_of<int64_t>({3, 1, 3}));
  EXPECT_EQ(result.shape(), (Shape{3, 2}));
  EXPECT_EQ(result.data<float>()[1], table.weight.data<float>()[7]);
  EXPECT_EQ(result.data<float>()[2], 0.0f);
  backward(sum(result));
  EXPECT_EQ(floats(grad_of(table.weight)), (Floats{0, 0, 0, 0, 0, 0, 2, 2}));
}

TEST(Embedding, GivesItsWeightASparseGradientIfAsked) {
  Embedding table(4, 2, {.sparse = true});
  backward(sum(table(vector_of<int64_t>({3, 0}))));
  EXPECT_EQ(grad_of(table.weight).layout(), Layout::selected_rows);
  EXPECT_EQ(to_dense(grad_of(table.weight)).shape(), (Shape{4, 2}));
}

TEST(Embedding, SharesAGivenMatrix) {
  const Tensor matrix = tensor_of<float>({1, 2, 3, 4}, Shape{2, 2});
  Embedding table = Embedding::from_pretrained(matrix);
  EXPECT_FALSE(table.weight.requires_grad());
  EXPECT_EQ(floats(table(vector_of<int64_t>({1}))), (Floats{3, 4}));
  EXPECT_EQ(table.weight.data_ptr(), matrix.data_ptr());
  EXPECT_TRUE(Embedding::from_pretrained(matrix, false).weight.requires_grad());
  EXPECT_THROW(Embedding::from_pretrained(ones(Shape{3})), ShapeError);
}

TEST(Embedding, RefusesRowsThatAreNotThere) {
  EXPECT_THROW(Embedding(3, 2, {.padding_idx = 3}), IndexError);
  EXPECT_THROW(Embedding(-3, 2), ValueError);
  EXPECT_THROW(Embedding(3, 2)(vector_of<int64_t>({3})), IndexError);
}

TEST(Dropout, ActsInTrainingOnly) {
  Dropout layer(0.5);
  const Tensor x = ones(Shape{1000});
  int kept = 0;
  for (const float value : floats(layer(x))) {
    EXPECT_TRUE(value == 0.0f || value == 2.0f);
    kept += value != 0.0f ? 1 : 0;
  }
  EXPECT_NEAR(kept, 500, 80);
  layer.eval();
  EXPECT_EQ(floats(layer(x)), floats(x));
  EXPECT_THROW(Dropout(1.5), ValueError);
}

TEST(Sequential, FeedsItsModulesInOrder) {
  Sequential net(Linear(2, 3), ReLU(), Linear(3, 1));
  const Tensor input = ones(Shape{4, 2});
  const Tensor by_hand = net[2](net[1](net[0](input)));
  EXPECT_EQ(floats(net(input)), floats(by_hand));
  EXPECT_EQ(net.named_parameters()[2].first, "2.weight");
  backward(sum(net(input)));
  EXPECT_EQ(grad_of(net.parameters()[0]).shape(), (Shape{3, 2}));
}

TEST(ModuleList, RefusesAnIndexBeyondItsEnd) {
  ModuleList list;
  list.push_back(ReLU());
  try {
    list[1];
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_STREQ(error.what(), "ModuleList: needs an index below 1, got 1");
  }
}

}  // namespace
}  // namespace ebb::nn
