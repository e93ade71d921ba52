// tests/ops/gradients_test.cpp -- first and second derivatives of the hand-written bodies against
// finite differences, over the ranks and options that their rules tell apart.
#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/cross_entropy.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_box_put_.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/log_softmax.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/softmax.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/testing/gradcheck.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

using kernels::Reduction;
using Inputs = std::span<const Tensor>;

/// Distinct values of both signs, away from 0, that do not depend on the test's order.
Tensor spread(const Shape& shape, double phase = 0.0, DType dtype = DType::float64) {
  const Tensor steps = add(cast(count_up(shape, DType::float64), DType::float64), phase);
  const Tensor waves = tanh(sub(mul(steps, 0.37), 1.0));
  return requires_grad_(detach(cast(add(waves, mul(steps, 0.01)), dtype)));
}
Tensor complex_spread(const Shape& shape, double phase) {
  const Tensor imaginary = mul(detach(spread(shape, phase + 0.5)), std::complex<double>(0, 1));
  return requires_grad_(add(detach(spread(shape, phase)), imaginary));
}

/// Checks first and second derivatives of a function of one result.
template <typename Function>
void check(Function function, std::initializer_list<Tensor> inputs) {
  const testing::TensorFunction wrapped = [&](Inputs in) {
    return std::vector<Tensor>{function(in)};
  };
  const std::vector<Tensor> given(inputs);
  EXPECT_NO_THROW(testing::gradcheck(wrapped, given));
  EXPECT_NO_THROW(testing::gradgradcheck(wrapped, given));
}

TEST(Gradients, OfSumAndMean) {
  const auto square = [](const Tensor& x) { return mul(x, x); };  // a second derivative to check
  check([&](Inputs in) { return sum(square(in[0])); }, {spread({2, 3})});
  check([&](Inputs in) { return sum(square(in[0]), Shape{0, -1}, true); }, {spread({2, 3, 2})});
  check([&](Inputs in) { return sum(square(in[0]), Shape{1}); }, {spread({2, 3, 2})});
  check([&](Inputs in) { return mean(square(in[0])); }, {spread({2, 3})});
  check([&](Inputs in) { return mean(square(in[0]), Shape{-1}); }, {spread({2, 3})});
  check([&](Inputs in) { return sum(square(in[0]), Shape{0}); }, {spread({})});
}

TEST(Gradients, OfMax) {
  check([](Inputs in) { return max(mul(in[0], in[0])); }, {spread({2, 3})});
  check([](Inputs in) { return std::get<0>(max(mul(in[0], in[0]), 1)); }, {spread({3, 4})});
  check([](Inputs in) { return std::get<0>(max(exp(in[0]), -2, true)); }, {spread({3, 4})});
}

TEST(Gradients, OfFullMaxAreSharedAmongTies) {
  const Tensor x = requires_grad_(vector_of<float>({5, 1, 5}));
  backward(max(x));
  EXPECT_EQ(floats(grad_of(x)), (Floats{0.5f, 0, 0.5f}));
}

TEST(Gradients, OfMaxAlongADimGoToTheFirstIndex) {
  const Tensor x = requires_grad_(vector_of<float>({5, 1, 5}));
  backward(std::get<0>(max(x, 0)));
  EXPECT_EQ(floats(grad_of(x)), (Floats{1, 0, 0}));
}

TEST(Gradients, OfMatmulForEveryPairOfRanks) {
  const auto product = [](Inputs in) { return matmul(in[0], in[1]); };
  const Shape lefts[] = {{3}, {2, 3}, {2, 2, 3}, {2, 1, 2, 3}};
  const Shape rights[] = {{3}, {3, 2}, {2, 3, 2}, {1, 2, 3, 2}};
  for (const Shape& left : lefts) {
    for (const Shape& right : rights) {
      SCOPED_TRACE(str(left, " @ ", right));
      check(product, {spread(left), spread(right, 0.3)});
    }
  }
}

TEST(Gradients, OfMatmulAreConjugated) {
  const auto product = [](Inputs in) { return matmul(in[0], in[1]); };
  check(product, {complex_spread({2, 3}, 0), complex_spread({3, 2}, 1)});
  check(product, {complex_spread({3}, 0), complex_spread({3}, 1)});
  check(product, {complex_spread({2, 2, 3}, 0), complex_spread({3}, 1)});
  check(product, {complex_spread({3}, 0), complex_spread({2, 3, 2}, 1)});
}

TEST(Gradients, OfLinear) {
  const auto layer = [](Inputs in) { return linear(in[0], in[1], in[2]); };
  const auto plain = [](Inputs in) { return linear(in[0], in[1]); };
  for (const Shape& shape : {Shape{3}, Shape{4, 3}, Shape{2, 2, 3}}) {
    SCOPED_TRACE(str(shape));
    check(layer, {spread(shape), spread({2, 3}, 0.3), spread({2}, 0.6)});
    check(plain, {spread(shape), spread({2, 3}, 0.3)});
  }
  check(layer, {complex_spread({2, 3}, 0), complex_spread({2, 3}, 1), complex_spread({2}, 2)});
}

TEST(Gradients, OfViews) {
  const auto square = [](const Tensor& x) { return mul(x, x); };
  check([&](Inputs in) { return square(reshape(in[0], Shape{3, 2})); }, {spread({2, 3})});
  check([&](Inputs in) { return square(reshape(transpose(in[0], 0, 1), Shape{6})); },
        {spread({2, 3})});
  check([&](Inputs in) { return square(permute(in[0], Shape{2, 0, 1})); }, {spread({2, 3, 2})});
  check([&](Inputs in) { return square(expand(in[0], Shape{2, 2, 3})); }, {spread({2, 1})});
  check([&](Inputs in) { return square(slice(in[0], 1, 0, 3, 2)); }, {spread({2, 3})});
  check([&](Inputs in) { return square(select(in[0], 0, 1)); }, {spread({2, 3})});
  check([&](Inputs in) { return square(squeeze(unsqueeze(in[0], 0))); }, {spread({2, 3})});
}

TEST(Gradients, OfCatAndSplit) {
  const auto joined = [](Inputs in) {
    const Tensor both = cat(in, 1);
    return mul(both, both);
  };
  check(joined, {spread({2, 1}), spread({2, 3}, 0.3)});
  const auto last_of_three = [](Inputs in) {
    const std::vector<Tensor> parts = split(in[0], Shape{2, 1, 2});
    return mul(parts[2], parts[0]);  // the middle part gets no gradient
  };
  check(last_of_three, {spread({5, 2})});
}

TEST(Gradients, OfWritingIntoABox) {
  const auto put = [](Inputs in) {
    const Tensor x = mul(in[0], in[0]);
    index_box_put_(x, mul(in[1], in[1]), Shape{0, 1}, Shape{1, 1}, Shape{2, 2}, Shape{2, 2});
    return mul(x, x);
  };
  check(put, {spread({2, 3}), spread({2}, 0.3)});
}

TEST(Gradients, OfIndexOps) {
  const Tensor index = tensor_of<int64_t>({1, 0, 1, 1}, {2, 2});
  const auto square = [](const Tensor& x) { return mul(x, x); };
  check([&](Inputs in) { return square(gather(in[0], 0, index)); }, {spread({2, 3})});
  check([&](Inputs in) { return square(scatter_add(in[0], 1, index, in[1])); },
        {spread({2, 3}), spread({2, 2}, 0.3)});
  check([&](Inputs in) { return square(scatter_add(in[0], 0, index, in[1])); },
        {spread({2, 3}), spread({3, 4}, 0.3)});  // not all of src is used
  const Tensor rows = vector_of<int64_t>({2, 0, 2});
  check([&](Inputs in) { return square(index_select(in[0], 0, rows)); }, {spread({3, 2})});
  check([&](Inputs in) { return square(index_add(in[0], 1, rows, in[1], -0.5)); },
        {spread({2, 3}), spread({2, 3}, 0.3)});
}

TEST(Gradients, OfLogSoftmax) {
  check([](Inputs in) { return log_softmax(in[0], 0); }, {spread({3, 2})});
  check([](Inputs in) { return log_softmax(in[0], -1); }, {spread({3, 2})});
  check([](Inputs in) { return softmax(in[0], 1); }, {spread({2, 3, 2})});
}

TEST(Gradients, OfCrossEntropy) {
  const Tensor target = vector_of<int64_t>({2, 0, 1});
  const Tensor weight = vector_of<double>({0.5, 1, 2});
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto loss = [&](Inputs in) {
        return cross_entropy(in[0], target, weight, 1, reduction, smoothing);
      };
      check(loss, {spread({3, 3})});
    }
  }
  const Tensor spread_target = tensor_of<int64_t>({0, 1, 1, 0}, {2, 2});
  check([&](Inputs in) { return cross_entropy(in[0], spread_target); }, {spread({2, 3, 2})});
  check([&](Inputs in) { return cross_entropy(in[0], in[1]); },
        {spread({2, 3}), spread({2, 3}, 0.4)});
}

TEST(Gradients, PassThroughCopies) {
  const auto copied = [](Inputs in) {
    const Tensor x = mul(in[1], 1);
    copy_(x, in[0]);
    return mul(x, x);
  };
  check([](Inputs in) { return mul(clone(in[0]), in[0]); }, {spread({2, 3})});
  const testing::TensorFunction wrapped = [&](Inputs in) {
    return std::vector<Tensor>{copied(in)};
  };
  const Tensor inputs[] = {spread({3}), detach(spread({2, 3}))};
  EXPECT_NO_THROW(testing::gradcheck(wrapped, inputs));
  EXPECT_NO_THROW(testing::gradgradcheck(wrapped, inputs));
}

TEST(Gradients, OfAWrittenValueHaveItsShape) {
  const Tensor value = requires_grad_(ones(Shape{1, 1, 3}));
  const Tensor x = zeros(Shape{2, 3});
  copy_(x, value);
  index_box_put_(x, mul(value, 2), Shape{0, 0}, Shape{1, 1}, Shape{1, 3}, Shape{3});
  backward(sum(x));
  EXPECT_EQ(list(grad_of(value).sizes()), (Ints{1, 1, 3}));
  EXPECT_EQ(floats(grad_of(value)), (Floats{3, 3, 3}));
}

TEST(Gradients, StopAtAFill) {
  const Tensor x = requires_grad_(ones(Shape{2}));
  const Tensor y = mul(x, 2);
  fill_(y, 5);
  backward(sum(mul(y, y)));
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Gradients, OfACastComeBackInTheOldDtype) {
  const Tensor x = requires_grad_(vector_of<float>({1, 2}));
  backward(sum(cast(x, DType::float64)));
  EXPECT_EQ(grad_of(x).dtype(), DType::float32);
  EXPECT_FALSE(cast(x, DType::int64).requires_grad());
}

}  // namespace
}  // namespace ebb
