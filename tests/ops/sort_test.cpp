// tests/ops/sort_test.cpp -- sorts, running sums, random choices and dropout from C++.
#include "ebb/ops/impl/sort.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/ops/all.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/argmax.h"
#include "ebb/autograd/ops/argsort.h"
#include "ebb/autograd/ops/cumprod.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/kthvalue.h"
#include "ebb/autograd/ops/median.h"
#include "ebb/autograd/ops/norm.h"
#include "ebb/autograd/ops/randint.h"
#include "ebb/autograd/ops/randperm.h"
#include "ebb/autograd/ops/sort.h"
#include "ebb/autograd/ops/std.h"
#include "ebb/autograd/ops/topk.h"
#include "ebb/autograd/ops/var.h"
#include "ebb/autograd/ops/var_mean.h"
#include "ebb/core/base/random.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

TEST(Sort, GivesValuesAndWhereTheyWere) {
  const Tensor x = vector_of<float>({3, 1, 2, 1});
  const auto [up, from] = sort(x);
  EXPECT_EQ(floats(up), (Floats{1, 1, 2, 3}));
  EXPECT_EQ(ints(from), (Ints{1, 3, 2, 0}));
  EXPECT_EQ(ints(argsort(x, -1, true)), (Ints{0, 2, 1, 3}));
}

TEST(Sort, TopkAndKthvalueTakeAPart) {
  const Tensor x = tensor_of<float>({5, 9, 7, 2, 4, 8}, {2, 3});
  const auto [values, indices] = topk(x, 2);
  EXPECT_EQ(floats(values), (Floats{9, 7, 8, 4}));
  EXPECT_EQ(ints(indices), (Ints{1, 2, 2, 1}));
  EXPECT_EQ(floats(std::get<0>(kthvalue(x, 2))), (Floats{7, 4}));
  EXPECT_EQ(median(x).item<float>(), 5.0f);
  EXPECT_EQ(ints(std::get<1>(median(x, 0))), (Ints{1, 1, 0}));
  EXPECT_EQ(error_of<ValueError>([&] { topk(x, 4); }), "topk: k must be from 0 to 3, got 4");
}

TEST(Scan, AddsAndMultipliesUp) {
  const Tensor x = tensor_of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(floats(cumsum(x, 0)), (Floats{1, 2, 4, 6}));
  EXPECT_EQ(floats(cumprod(x, 1)), (Floats{1, 2, 3, 12}));
  EXPECT_EQ(cumsum(count_up({3}, DType::int8), 0).dtype(), DType::int64);
}

TEST(Moments, HaveNamesOfTheirOwnInCpp) {
  const Tensor x = vector_of<float>({1, 2, 3, 4});
  EXPECT_EQ(var(x, std::nullopt, 0.0).item<float>(), 1.25f);
  EXPECT_FLOAT_EQ(ebb::std(x, false).item<float>(), std::sqrt(1.25f));
  EXPECT_FLOAT_EQ(norm(x).item<float>(), std::sqrt(30.0f));
  const auto [variance, middle] = var_mean(x);
  EXPECT_FLOAT_EQ(variance.item<float>(), 5.0f / 3);
  EXPECT_EQ(middle.item<float>(), 2.5f);
  EXPECT_TRUE(any(greater(x, 3)).item<bool>());
  EXPECT_FALSE(all(greater(x, 3)).item<bool>());
  EXPECT_EQ(argmax(x).item<int64_t>(), 3);
}

TEST(RandomChoice, RepeatsWithItsSeed) {
  default_generator().set_seed(4);
  const Ints first = ints(randint(0, 100, Shape{5}));
  const Ints order = ints(randperm(6));
  default_generator().set_seed(4);
  EXPECT_EQ(ints(randint(0, 100, Shape{5})), first);
  EXPECT_EQ(ints(randperm(6)), order);
  EXPECT_EQ(error_of<ValueError>([] { randperm(-2); }), "randperm: n must not be negative, got -2");
}

TEST(Dropout, IsItsInputUnlessItTrains) {
  const Tensor x = count_up({4});
  EXPECT_EQ(dropout(x, 0.5, false).impl(), x.impl());
  EXPECT_EQ(dropout(x, 0.0).impl(), x.impl());
  EXPECT_EQ(floats(dropout(x, 1.0)), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(error_of<ValueError>([&] { dropout(x, -0.1); }),
            "dropout: p must be from 0 to 1, got -0.1");
}

}  // namespace
}  // namespace ebb
