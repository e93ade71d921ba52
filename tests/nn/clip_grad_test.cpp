// tests/nn/clip_grad_test.cpp -- bounded gradients: norms by hand, refusals, stale graphs.
#include "ebb/nn/clip_grad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/parallel.h"
#include "tests/optim/parameter.h"

namespace ebb::nn::utils {
namespace {

using ebb::testing::message_of;
using ebb::testing::parameter;
using ebb::testing::to_vector;
using Doubles = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ClipGradNorm, ScalesAllGradientsTogether) {
  const Tensor first = parameter({0.0, 0.0}, {3.0, -4.0});
  const Tensor second = parameter({0.0}, {12.0});
  EXPECT_EQ(clip_grad_norm_({first, second}, 6.5).item<double>(), 13.0);
  EXPECT_NEAR(grad_of(first).data<double>()[1], -2.0, 1e-6);
  EXPECT_NEAR(grad_of(second).data<double>()[0], 6.0, 1e-6);
}

TEST(ClipGradNorm, KnowsOtherOrders) {
  const Tensor p = parameter({0.0, 0.0}, {3.0, -4.0});
  EXPECT_EQ(clip_grad_norm_({p}, 100, 1.0).item<double>(), 7.0);
  EXPECT_EQ(clip_grad_norm_({p}, 100, kInfinity).item<double>(), 4.0);
  EXPECT_NEAR(clip_grad_norm_({p}, 100, 3.0).item<double>(), std::cbrt(27.0 + 64.0), 1e-12);
  EXPECT_EQ(to_vector<double>(grad_of(p)), (Doubles{3.0, -4.0}));
}

TEST(ClipGradNorm, SkipsParametersWithoutAGradient) {
  const Tensor idle = requires_grad_(zeros(Shape{2}));
  EXPECT_EQ(clip_grad_norm_({idle}, 1.0).item<float>(), 0.0f);
}

TEST(ClipGradNorm, NamesTheParameterThatIsNotFinite) {
  const Tensor good = parameter({0.0}, {1.0});
  const Tensor bad = parameter({0.0}, {std::nan("")});
  EXPECT_EQ(message_of<ValueError>([&] {
              clip_grad_norm_({good, bad}, 1.0, 2.0, true);
            }),
            "clip_grad_norm_: needs finite gradients, got a norm of nan; the gradient of "
            "parameter 1 is the first that holds inf or nan");
  EXPECT_EQ(to_vector<double>(grad_of(good)), Doubles{1.0});
}

TEST(ClipGradNorm, RefusesBadNumbersAndNoTensors) {
  EXPECT_EQ(message_of<ValueError>([] { clip_grad_norm_({}, -1); }),
            "clip_grad_norm_: needs max_norm >= 0, got -1");
  EXPECT_EQ(message_of<ValueError>([] { clip_grad_norm_({}, 1, 0); }),
            "clip_grad_norm_: needs norm_type > 0, got 0");
  EXPECT_EQ(message_of<ValueError>([] { clip_grad_norm_({Tensor()}, 1); }),
            "clip_grad_norm_: needs tensors, got nothing as parameter 0");
}

TEST(ClipGradNorm, RefusesReadOnlyGradientsBeforeItWrites) {
  const Tensor first = parameter({0.0}, {3.0});
  const Tensor second = parameter({0.0}, {4.0});
  grad_of(second).impl()->storage->mark_read_only();
  EXPECT_THROW(clip_grad_norm_({first, second}, 1.0), ValueError);
  EXPECT_EQ(to_vector<double>(grad_of(first)), Doubles{3.0});
}

TEST(ClipGradValue, BoundsEveryElement) {
  const Tensor p = parameter({0.0, 0.0, 0.0}, {3.0, -0.5, -4.0});
  clip_grad_value_({p}, 1.5);
  EXPECT_EQ(to_vector<double>(grad_of(p)), (Doubles{1.5, -0.5, -1.5}));
}

}  // namespace
}  // namespace ebb::nn::utils
