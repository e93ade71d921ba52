// tests/ops/arrange_test.cpp -- ops that rearrange and contract, called from C++: values that can
// be checked by hand, whole argument lists, and which of them are views.
#include <gtest/gtest.h>

#include "ebb/autograd/ops/addmm.h"
#include "ebb/autograd/ops/chunk.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/einsum.h"
#include "ebb/autograd/ops/embedding.h"
#include "ebb/autograd/ops/embedding_backward.h"
#include "ebb/autograd/ops/flip.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/index.h"
#include "ebb/autograd/ops/index_put_.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/movedim.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/pad.h"
#include "ebb/autograd/ops/repeat.h"
#include "ebb/autograd/ops/repeat_interleave.h"
#include "ebb/autograd/ops/roll.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/tensor_split.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/tril.h"
#include "ebb/autograd/ops/triu.h"
#include "ebb/autograd/ops/unbind.h"
#include "ebb/autograd/ops/unflatten.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

bool shares_memory(const Tensor& lhs, const Tensor& rhs) {
  return lhs.impl()->storage == rhs.impl()->storage;
}

TEST(Arrange, StackAndUnbindAreEachOthersInverse) {
  const Tensor x = count_up({2, 3});
  const Tensor parts[] = {x, mul(x, 10)};
  const Tensor stacked = stack(parts, 1);
  EXPECT_EQ(list(stacked.sizes()), (Ints{2, 2, 3}));
  EXPECT_EQ(floats(stacked), (Floats{0, 1, 2, 0, 10, 20, 3, 4, 5, 30, 40, 50}));
  const std::vector<Tensor> slices = unbind(stacked, 1);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(floats(slices[1]), floats(parts[1]));
  EXPECT_TRUE(shares_memory(slices[0], stacked));
}

TEST(Arrange, ViewsShareMemory) {
  const Tensor x = count_up({2, 6});
  const int64_t halves[] = {2, -1}, from[] = {0}, to[] = {1};
  for (const Tensor& view : {unflatten(x, 1, halves), movedim(x, from, to), diagonal(x, 1),
                             chunk(x, 3, 1)[2], tensor_split(x, 4, 1)[3]}) {
    EXPECT_TRUE(shares_memory(view, x));
  }
  EXPECT_EQ(floats(diagonal(x, 1)), (Floats{1, 8}));
}

TEST(Arrange, PadsWithAConstantOrWithItself) {
  const Tensor x = count_up({3});
  const int64_t around[] = {2, 1};
  EXPECT_EQ(floats(pad(x, around, "constant", 9)), (Floats{9, 9, 0, 1, 2, 9}));
  EXPECT_EQ(floats(pad(x, around, "reflect")), (Floats{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(floats(pad(x, around, "replicate")), (Floats{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(floats(pad(x, around, "circular")), (Floats{1, 2, 0, 1, 2, 0}));
  const int64_t cut[] = {-1, -1};
  EXPECT_EQ(floats(pad(x, cut)), Floats{1});
}

TEST(Arrange, RollsFlipsAndRepeats) {
  const Tensor x = count_up({4});
  const int64_t one[] = {1}, zero[] = {0}, twice[] = {2};
  EXPECT_EQ(floats(roll(x, one, zero)), (Floats{3, 0, 1, 2}));
  EXPECT_EQ(floats(flip(x, zero)), (Floats{3, 2, 1, 0}));
  EXPECT_EQ(floats(repeat(x, twice)), (Floats{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(floats(repeat_interleave(x, 2)), (Floats{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Arrange, KeepsOneSideOfADiagonal) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(floats(tril(x)), (Floats{0, 0, 0, 3, 4, 0}));
  EXPECT_EQ(floats(triu(x, 1)), (Floats{0, 1, 2, 0, 0, 5}));
  const Tensor turned = transpose(clone(x), 0, 1);
  EXPECT_EQ(floats(tril_(turned)), (Floats{0, 0, 1, 4, 2, 5}));
}

TEST(Contraction, EinsumTakesAnyNumberOfTensors) {
  const Tensor a = count_up({2, 3});
  const Tensor b = count_up({3, 2});
  const Tensor pair[] = {a, b}, triple[] = {a, b, a};
  EXPECT_EQ(floats(einsum(pair, "ij,jk->ik")), floats(matmul(a, b)));
  EXPECT_EQ(floats(einsum(triple, "ij,jk,kl")), floats(matmul(matmul(a, b), a)));
  EXPECT_EQ(floats(einsum(pair, "ij,ji->")), Floats{10 + 40});
}

TEST(Contraction, AddmmOfARowIsLinear) {
  const Tensor out = addmm(ones(Shape{2}), count_up({2, 3}), count_up({3, 2}));
  EXPECT_EQ(floats(out), (Floats{11, 14, 29, 41}));
  EXPECT_EQ(floats(addmm(ones(Shape{1}), count_up({1, 2}), count_up({2, 1}), 3, 2)), Floats{5});
}

TEST(Indexing, TakesTensorsAndMasksAndWholeDims) {
  const Tensor x = count_up({2, 3});
  const Tensor columns[] = {Tensor(), vector_of<int64_t>({2, -3})};
  EXPECT_EQ(floats(index(x, columns)), (Floats{2, 0, 5, 3}));
  const Tensor mask[] = {greater(x, 3)};
  EXPECT_EQ(floats(index(x, mask)), (Floats{4, 5}));
  const Tensor both[] = {vector_of<int64_t>({0, 1}), vector_of<int64_t>({1, 2})};
  EXPECT_EQ(floats(index(x, both)), (Floats{1, 5}));
  index_put_(x, both, full(Shape{}, -1.0));
  EXPECT_EQ(floats(x), (Floats{0, -1, 2, 3, 4, -1}));
  index_put_(x, mask, ones(Shape{}), true);
  EXPECT_EQ(floats(x), (Floats{0, -1, 2, 3, 5, 0}));
}

TEST(Indexing, EmbeddingLooksRowsUp) {
  const Tensor weight = count_up({3, 2});
  const Tensor indices = tensor_of<int32_t>({2, 0, 2, 1}, {2, 2});
  const Tensor out = embedding(weight, indices);
  EXPECT_EQ(list(out.sizes()), (Ints{2, 2, 2}));
  EXPECT_EQ(floats(out), (Floats{4, 5, 0, 1, 4, 5, 2, 3}));
  EXPECT_EQ(floats(embedding_backward(out, indices, 3, 0)), (Floats{0, 0, 2, 3, 8, 10}));
}

}  // namespace
}  // namespace ebb
