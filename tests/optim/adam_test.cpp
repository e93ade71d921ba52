// tests/optim/adam_test.cpp -- Adam and AdamW against their definition, spelled out below.
#include "ebb/optim/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/core/base/error.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::message_of;
using ebb::testing::parameter;
using ebb::testing::to_vector;
using ebb::testing::vector_of;
using Doubles = std::vector<double>;

/// One number that follows the formulas of adam.h.
struct Reference {
  double p, m = 0, v = 0, max_v = 0;
  int t = 0;
  void step(double grad, const AdamOptions& o, bool is_decoupled) {
    ++t;
    const double g = (o.maximize ? -grad : grad) + (is_decoupled ? 0.0 : o.weight_decay * p);
    if (is_decoupled) p *= 1 - o.lr * o.weight_decay;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    max_v = std::max(max_v, v);
    const double used = o.amsgrad ? max_v : v;
    p -= o.lr * (m / (1 - std::pow(o.beta1, t))) /
         (std::sqrt(used / (1 - std::pow(o.beta2, t))) + o.eps);
  }
};

void expect_follows(Adam& optimizer, const Tensor& p, bool is_decoupled) {
  Reference reference{p.data<double>()[0]};
  for (const double grad : {0.5, -2.0, 0.25, 1.0}) {
    grad_of(p).data<double>()[0] = grad;
    optimizer.step();
    reference.step(grad, optimizer.options(), is_decoupled);
    EXPECT_NEAR(p.data<double>()[0], reference.p, 1e-14);
  }
}

TEST(Adam, FollowsItsDefinition) {
  const Tensor p = parameter({0.75}, {0.0});
  Adam optimizer({p}, {.lr = 0.1, .weight_decay = 0.25});
  expect_follows(optimizer, p, false);
}

TEST(AdamW, ShrinksTheParameterDirectly) {
  const Tensor p = parameter({0.75}, {0.0});
  AdamW optimizer({p}, {.lr = 0.1, .weight_decay = 0.25});
  expect_follows(optimizer, p, true);
}

TEST(AdamW, KeepsTheLargestMeanSquareWithAmsgrad) {
  const Tensor p = parameter({0.75}, {0.0});
  AdamW optimizer({p}, {.lr = 0.1, .beta2 = 0.5, .amsgrad = true});
  expect_follows(optimizer, p, true);
}

TEST(AdamW, GoesUpToMaximize) {
  const Tensor p = parameter({0.75}, {0.0});
  AdamW optimizer({p}, {.lr = 0.1, .maximize = true});
  expect_follows(optimizer, p, true);
}

TEST(AdamW, FirstStepIsAsLongAsTheLearningRate) {
  const Tensor p = parameter<float>({1.0f, 1.0f}, {3.0f, -0.01f});
  AdamW({p}, {.lr = 0.5, .weight_decay = 0.0}).step();
  EXPECT_NEAR(p.data<float>()[0], 0.5f, 1e-6f);
  EXPECT_NEAR(p.data<float>()[1], 1.5f, 1e-5f);
}

TEST(AdamW, RefusesOptionsOutOfRange) {
  const Tensor p = parameter({0.0}, {1.0});
  const auto text = [&](AdamOptions options) {
    return message_of<ValueError>([&] { AdamW({p}, options); });
  };
  EXPECT_EQ(text({.lr = -1}), "AdamW: needs lr >= 0, got -1");
  EXPECT_EQ(text({.lr = std::nan("")}), "AdamW: needs lr >= 0, got nan");
  EXPECT_EQ(text({.beta1 = 1}), "AdamW: needs 0 <= beta1 < 1, got 1");
  EXPECT_EQ(text({.beta2 = -0.5}), "AdamW: needs 0 <= beta2 < 1, got -0.5");
  EXPECT_EQ(text({.eps = -1}), "AdamW: needs eps >= 0, got -1");
  EXPECT_EQ(text({.weight_decay = -1}), "AdamW: needs weight_decay >= 0, got -1");
}

}  // namespace
}  // namespace ebb::optim
