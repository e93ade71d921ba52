// tests/autograd/history/autocast_test.cpp -- blocks of mixed precision, as C++ programs write
// them.
#include "ebb/autograd/history/casts/autocast.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/methods.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace {

DType product_dtype() { return matmul(ones({2, 2}), ones({2, 2})).dtype(); }

TEST(Autocast, HoldsForItsScopeAndNests) {
  {
    const AutocastGuard autocast;
    EXPECT_EQ(product_dtype(), DType::bfloat16);
    const AutocastGuard off({.enabled = false});
    EXPECT_EQ(product_dtype(), DType::float32);
    const AutocastGuard half({.dtype = DType::float16});
    EXPECT_EQ(product_dtype(), DType::float16);
    EXPECT_EQ(autocast_dtype(), DType::float16);
  }
  EXPECT_FALSE(is_autocast_enabled());
  EXPECT_EQ(product_dtype(), DType::float32);
}

TEST(Autocast, CastsALeafAnewForAnInnerBlockOfAnotherDtype) {
  const Tensor w = requires_grad_(ones({2, 2}));
  const AutocastGuard outer;
  EXPECT_EQ(matmul(w, w).dtype(), DType::bfloat16);
  const AutocastGuard inner({.dtype = DType::float16});
  EXPECT_EQ(matmul(w, w).dtype(), DType::float16);
}

TEST(Autocast, KeepsNoCastWithoutHistoryForGradMode) {
  const Tensor w = requires_grad_(ones({2, 2}));
  const AutocastGuard autocast;
  const auto without_history = [&] {
    const NoGradGuard guard;
    return matmul(w, w);
  };
  EXPECT_FALSE(without_history().requires_grad());
  const Tensor product = matmul(w, w);
  EXPECT_TRUE(product.requires_grad());
  EXPECT_FALSE(without_history().requires_grad());  // with the cast of grad mode
  backward(sum(product));
  EXPECT_EQ(grad_of(w).dtype(), DType::float32);
}

TEST(Autocast, LeavesComplexNumbersAsTheyAre) {
  const AutocastGuard autocast;
  const Tensor w = ones(Shape{2, 2}, DType::complex64);
  EXPECT_EQ(matmul(w, w).dtype(), DType::complex64);
}

TEST(Autocast, EndsByAnExceptionToo) {
  try {
    const AutocastGuard autocast;
    throw std::runtime_error("stop");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(product_dtype(), DType::float32);
  }
}

TEST(Autocast, IsOfItsThread) {
  const AutocastGuard autocast;
  DType elsewhere{};
  std::thread([&] { elsewhere = product_dtype(); }).join();
  EXPECT_EQ(elsewhere, DType::float32);
}

TEST(Autocast, GoesWithTheModesOfAThread) {
  autograd::ThreadModes modes;
  {
    const AutocastGuard autocast({.dtype = DType::float16});
    modes = autograd::ThreadModes::current();
  }
  DType elsewhere{};
  std::thread([&] {
    const autograd::ThreadModesScope scope(modes);
    elsewhere = product_dtype();
  }).join();
  EXPECT_EQ(elsewhere, DType::float16);
  EXPECT_EQ(product_dtype(), DType::float32);
}

TEST(Autocast, GivesALeafAGradientOfItsOwnDtype) {
  const Tensor weight = ones({2, 2}).requires_grad_();
  Tensor loss;
  {
    const AutocastGuard autocast;
    loss = ones({2, 2}).matmul(weight).sum();
  }
  loss.backward();
  EXPECT_EQ(weight.grad().dtype(), DType::float32);
  EXPECT_EQ(weight.grad().sum().item<float>(), 8.0f);
}

TEST(Autocast, RefusesWhatItCannotCast) {
  EXPECT_THROW(AutocastGuard({.dtype = DType::float64}), DTypeError);
  EXPECT_THROW(AutocastGuard({.custom_white_list = {"reshape"}}), ValueError);
  EXPECT_FALSE(is_autocast_enabled());
}

TEST(Autocast, KnowsEachOpOnce) {
  const auto& rows = autograd::amp_rows();
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].op, rows[i].op);
}

}  // namespace
}  // namespace ebb
