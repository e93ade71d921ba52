// tests/optim/optimizer_test.cpp -- what all optimizers share.
//
// What each computes is compared with PyTorch's numbers in tests/python/optim/test_reference.py,
// and at every instruction set level with the formulas in tests/kernels/optim_test.cpp.
#include "ebb/optim/optimizer.h"

#include <gtest/gtest.h>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/optim/adagrad.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/rmsprop.h"
#include "ebb/optim/sgd.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::parameter;
using ebb::testing::to_vector;
using ebb::testing::vector_of;
using Doubles = std::vector<double>;

/// Where a step from 8 with gradient 1 leads.
template <typename Kind>
double step_of(decltype(std::declval<Kind>().options()) options) {
  const Tensor p = parameter({8.0}, {1.0});
  Kind({p}, options).step();
  return p.data<double>()[0];
}

TEST(Optimizer, TakesItsOptions) {
  EXPECT_EQ(step_of<SGD>({.lr = 1.0, .weight_decay = 0.25}), 5.0);  // 8 - (1 + 2)
  EXPECT_EQ(step_of<SGD>({.lr = 1.0, .momentum = 0.5, .nesterov = true}), 6.5);
  EXPECT_NEAR(step_of<Adam>({.lr = 0.5, .maximize = true}), 8.5, 1e-6);
  EXPECT_NEAR(step_of<AdamW>({.lr = 0.5, .weight_decay = 0.25}), 6.5, 1e-6);  // 7 - 0.5
  EXPECT_NEAR(step_of<RMSprop>({.lr = 0.5, .alpha = 0.75}), 7.0, 1e-6);
  EXPECT_NEAR(step_of<Adagrad>({.lr = 0.5, .initial_accumulator_value = 3.0}), 7.75, 1e-6);
  EXPECT_EQ(error_of<ValueError>([] { step_of<AdamW>({.beta1 = 1}); }),
            "AdamW: needs 0 <= beta1 < 1, got 1");
}

TEST(Optimizer, SkipsParametersWithoutAGradient) {
  const Tensor idle = requires_grad_(vector_of(Doubles{1.0}));
  const Tensor busy = parameter({1.0}, {1.0});
  AdamW optimizer({idle, busy});
  optimizer.step();
  EXPECT_EQ(to_vector<double>(idle), Doubles{1.0});
  EXPECT_NE(to_vector<double>(busy), Doubles{1.0});
  EXPECT_EQ(optimizer.steps(0), 0);
  EXPECT_FALSE(optimizer.state(0, "exp_avg").defined());
}

TEST(Optimizer, DropsGradientsOrFillsThemWithZeros) {
  const Tensor p = parameter({1.0}, {5.0});
  SGD optimizer({p});
  optimizer.zero_grad(false);
  EXPECT_EQ(to_vector<double>(grad_of(p)), Doubles{0.0});
  optimizer.zero_grad();
  EXPECT_FALSE(grad_of(p).defined());
}

TEST(Optimizer, RecordsNothing) {
  const Tensor p = parameter({1.0}, {1.0});
  SGD({p}, {.lr = 0.5, .momentum = 0.5}).step();
  EXPECT_TRUE(is_leaf(p));
  EXPECT_TRUE(p.requires_grad());
}

TEST(Optimizer, RaisesTheVersionSoThatStaleGraphsAreNoticed) {
  const Tensor p = parameter({3.0}, {1.0});
  const Tensor square = mul(p, p);
  const uint32_t version = p.version();
  SGD({p}).step();
  EXPECT_GT(p.version(), version);
  const std::string text = error_of<AutogradError>([&] { backward(square); });
  EXPECT_NE(text.find("SGD"), std::string::npos) << text;
}

TEST(Optimizer, UpdatesStridedParametersAndGradients) {
  const Tensor p =
      requires_grad_(transpose(reshape(vector_of(Doubles{1, 2, 3, 4}), Shape{2, 2}), 0, 1));
  set_grad(p, transpose(reshape(vector_of(Doubles{1, 2, 3, 4}), Shape{2, 2}), 0, 1));
  SGD({p}, {.lr = 1.0}).step();
  EXPECT_EQ(to_vector<double>(contiguous(detached(p))), (Doubles{0, 0, 0, 0}));
}

/// Three parameters of 100,000 numbers, some in a piece with a neighbour, after three steps.
std::vector<float> after_three_steps(std::string_view kind) {
  std::vector<Tensor> parameters;
  for (const size_t count : {size_t{30'000}, size_t{5}, size_t{70'000}}) {
    std::vector<float> values(count), grads(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = 1.0f / static_cast<float>(i + 1);
      grads[i] = static_cast<float>(i % 17) - 8.0f;
    }
    parameters.push_back(parameter(values, grads));
  }
  const auto optimizer = make_optimizer(kind, parameters);
  for (int step = 0; step < 3; ++step) optimizer->step();
  std::vector<float> result;
  for (const Tensor& p : parameters) {
    const std::vector<float> values = to_vector<float>(p);
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

TEST(Optimizer, GivesTheSameBitsForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const char* kind : {"Adagrad", "Adam", "AdamW", "RMSprop", "SGD"}) {
    set_num_threads(1);
    const std::vector<float> expected = after_three_steps(kind);
    for (const int threads : {2, 3, 8}) {
      set_num_threads(threads);
      EXPECT_EQ(after_three_steps(kind), expected) << kind << " on " << threads;
    }
  }
  set_num_threads(before);
}

TEST(Optimizer, StepsParametersOfSeveralTypesTogether) {
  const Tensor wide = parameter<double>({1.0, 2.0}, {1.0, 1.0});
  const Tensor narrow = parameter<float>({3.0f}, {2.0f});
  const Tensor empty = parameter<float>({}, {});
  SGD({wide, empty, narrow}, {.lr = 0.5}).step();
  EXPECT_EQ(to_vector<double>(wide), (Doubles{0.5, 1.5}));
  EXPECT_EQ(to_vector<float>(narrow), std::vector<float>{2.0f});
}

TEST(Optimizer, ChangesNothingWhenMemoryRunsOut) {
  const Tensor first = parameter({1.0}, {1.0});
  const Tensor second = parameter({2.0}, {1.0});
  AdamW optimizer({first, second});
  fail_allocation_after(3, true);
  EXPECT_THROW(optimizer.step(), OutOfMemoryError);
  fail_allocation_after(-1);
  EXPECT_EQ(to_vector<double>(first), Doubles{1.0});
  EXPECT_EQ(to_vector<double>(second), Doubles{2.0});
  optimizer.step();
  EXPECT_EQ(optimizer.steps(1), 1);
}

TEST(Optimizer, RefusesWhatIsNoParameter) {
  const Tensor p = parameter({1.0}, {1.0});
  EXPECT_EQ(error_of<ValueError>([] { SGD({Tensor()}); }),
            "SGD: needs tensors, got nothing as parameter 0");
  EXPECT_EQ(error_of<DTypeError>([] { SGD({vector_of(std::vector<int64_t>{1})}); }),
            "SGD: needs floating or complex parameters, got int64 as parameter 0");
  EXPECT_EQ(error_of<ValueError>([&] {
              SGD({p, p});
            }),
            "SGD: needs each parameter once, got parameter 1 again");
  const std::string text = error_of<ValueError>([&] { SGD({mul(p, p)}); });
  EXPECT_NE(text.find("needs leaf tensors, got the result of an operation"), std::string::npos);
}

TEST(Optimizer, RefusesReadOnlyMemory) {
  const Tensor p = parameter({1.0}, {1.0});
  p.impl()->storage->mark_read_only();
  EXPECT_THROW(SGD({p}).step(), ValueError);
  EXPECT_EQ(to_vector<double>(p), Doubles{1.0});
}

}  // namespace
}  // namespace ebb::optim
