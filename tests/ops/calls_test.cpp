// tests/ops/calls_test.cpp -- how C++ calls ops: operators, spans, optional arguments, results by
// number, undefined tensors; what an op gives back that is no new tensor.
//
// Values, dtypes, derivatives and refusals are tested from the rows of the op table in
// tests/python/ops, whatever the language of the call.
#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/einsum.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index.h"
#include "ebb/autograd/ops/index_put_.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/roll.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/std.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/var.h"
#include "ebb/autograd/ops/var_mean.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Operators, TakeTensorsAndNumbersOnEitherSide) {
  const Tensor x = vector_of<float>({1, 4});
  EXPECT_EQ(floats(x * 10 + x), (Floats{11, 44}));
  EXPECT_EQ(floats(1 - x), (Floats{0, -3}));
  EXPECT_EQ(floats(x - 1), (Floats{0, 3}));
  EXPECT_EQ(floats(2 / x), (Floats{2, 0.5f}));
  EXPECT_EQ(floats(x / x), (Floats{1, 1}));
  EXPECT_EQ((ones(Shape{2}, DType::boolean) + 1).dtype(), DType::int64);
}

TEST(Operators, CompareToBool) {
  const Tensor x = vector_of<float>({1, 2, 3});
  EXPECT_EQ((x > 2).dtype(), DType::boolean);
  EXPECT_EQ(ints(x > 1.5), (Ints{0, 1, 1}));
  EXPECT_EQ(ints(x < vector_of<int64_t>({2, 2, 2})), (Ints{1, 0, 0}));
}

TEST(Calls, TakeListsAndOptionalArguments) {
  const Tensor x = count_up({2, 3});
  EXPECT_EQ(floats(sum(x, Shape{0})), (Floats{3, 5, 7}));
  EXPECT_EQ(list(sum(x, Shape{1}, true).sizes()), (Ints{2, 1}));
  EXPECT_EQ(sum(count_up({300}, DType::int16), {}, false, DType::uint8).item<int64_t>(),
            44850 % 256);
  const int64_t one[] = {1}, zero[] = {0};
  EXPECT_EQ(floats(roll(vector_of<float>({0, 1, 2, 3}), one, zero)), (Floats{3, 0, 1, 2}));
  const Tensor pair[] = {x, transpose(x, 0, 1)};
  EXPECT_EQ(floats(einsum(pair, "ij,jk")), floats(matmul(pair[0], pair[1])));
}

TEST(Calls, GiveSeveralResultsAndHaveNamesOfTheirOwnInCpp) {
  const Tensor x = vector_of<float>({1, 2, 3, 4});
  EXPECT_EQ(var(x, std::nullopt, 0.0).item<float>(), 1.25f);
  EXPECT_FLOAT_EQ(ebb::std(x, false).item<float>(), std::sqrt(1.25f));
  EXPECT_FLOAT_EQ(norm(x).item<float>(), std::sqrt(30.0f));
  const auto [variance, middle] = var_mean(x);
  EXPECT_FLOAT_EQ(variance.item<float>(), 5.0f / 3);
  EXPECT_EQ(middle.item<float>(), 2.5f);
}

TEST(Calls, IndexByTensorsMasksAndWholeDims) {
  const Tensor x = count_up({2, 3});
  const Tensor columns[] = {Tensor(), vector_of<int64_t>({2, -3})};
  EXPECT_EQ(floats(index(x, columns)), (Floats{2, 0, 5, 3}));
  const Tensor mask[] = {x > 3};
  EXPECT_EQ(floats(index(x, mask)), (Floats{4, 5}));
  index_put_(x, mask, full(Shape{}, -1.0));
  EXPECT_EQ(floats(x), (Floats{0, 1, 2, 3, -1, -1}));
}

TEST(Calls, CountAZeroDimTensorAsOneElement) {
  const Tensor scalar = full(Shape{}, 5.0);
  const Tensor zero = zeros(Shape{}, DType::int64);
  EXPECT_EQ(floats(gather(scalar, 0, zero)), Floats{5});
  EXPECT_EQ(floats(index_select(scalar, 0, zero)), Floats{5});
  EXPECT_EQ(floats(scatter_add(scalar, 0, zero, scalar)), Floats{10});
}

TEST(Calls, NameAnUndefinedOperand) {
  const std::string rest = " must be a tensor, got an undefined one";
  EXPECT_EQ(error_of<ValueError>([] { add(ones(Shape{2}), Tensor()); }), "add: 'other'" + rest);
  EXPECT_EQ(error_of<ValueError>([] { neg(Tensor()); }), "neg: 'input'" + rest);
  EXPECT_EQ(error_of<ValueError>([] { select(Tensor(), 0, 0); }), "select: 'input'" + rest);
  EXPECT_EQ(error_of<ValueError>([] { squeeze(Tensor()); }), "squeeze: 'input'" + rest);
}

TEST(Calls, GiveTheirOperandBackIfThereIsNothingToDo) {
  const Tensor x = count_up({2, 3});
  EXPECT_TRUE(contiguous(x).is_same(x));
  EXPECT_FALSE(contiguous(transpose(x, 0, 1)).is_same(x));
  EXPECT_TRUE(conj(x).is_same(x));
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_TRUE(dropout(x, 0.0).is_same(x));
  EXPECT_EQ(detach(x).data_ptr(), x.data_ptr());
}

TEST(InPlace, GivesItsTargetBackAndRaisesItsVersion) {
  const Tensor x = count_up({3});
  EXPECT_TRUE(add_(x, ones(Shape{3})).is_same(x));
  mul_(x, 2);
  EXPECT_EQ(floats(x), (Floats{2, 4, 6}));
  EXPECT_EQ(x.version(), 2u);
}

TEST(InPlace, LeavesTheVersionOfWhatItRefusesToWrite) {
  const Tensor x = zeros(Shape{2, 2});
  EXPECT_NE(error_of<IndexError>([&] {
              scatter_add_(x, 0, full(Shape{1, 1}, 2), ones(Shape{1, 1}));
            }),
            "no error");
  EXPECT_EQ(x.version(), 0u);
}

TEST(InPlace, RefusesMemoryThatMayNotBeWritten) {
  const Tensor expanded = expand(count_up({1}), Shape{3});
  EXPECT_EQ(error_of<ValueError>([&] { add_(expanded, 1); }),
            "add_: no two elements of what is written may share memory, got shape [3] with strides "
            "[0]\nhint: clone() it first");
  const Tensor fixed = count_up({2});
  fixed.impl()->storage->mark_read_only();
  const std::string rest =
      "the tensor that is written must be writable, got float32 [2] over read-only memory\nhint: "
      "clone() it first";
  EXPECT_EQ(error_of<ValueError>([&] { add_(fixed, 1); }), "add_: " + rest);
  EXPECT_EQ(error_of<ValueError>([&] { fill_(fixed, 1); }), "fill_: " + rest);
}

TEST(Out, WritesWhereItIsTold) {
  const Tensor out = zeros(Shape{2}, DType::float64);
  EXPECT_TRUE(add_out(count_up({2}), ones(Shape{2}), out).is_same(out));
  EXPECT_EQ(floats(out), (Floats{1, 2}));
  EXPECT_EQ(error_of<ShapeError>([&] { add_out(count_up({3}), ones(Shape{3}), out); }),
            "add_out: 'out' must have the broadcast shape [3], got [2]");
}

TEST(Arange, IsExactForLargeIntegers) {
  const int64_t last = INT64_MAX;
  EXPECT_EQ(ints(arange(last - 2, last)), (Ints{last - 2, last - 1}));
}

TEST(Linear, AddsTheBiasToEveryBlockOfALargeResult) {
  const Tensor input = randn(Shape{5, 60, 128});
  const Tensor weight = randn(Shape{200, 128});
  const Tensor bias = randn(Shape{200});
  const Tensor difference =
      linear(input, weight, bias) - add(matmul(input, transpose(weight, 0, 1)), bias);
  EXPECT_LT(max(mul(difference, difference)).item<float>(), 1e-7f);
}

}  // namespace
}  // namespace ebb
