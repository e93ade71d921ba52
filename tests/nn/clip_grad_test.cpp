// tests/nn/clip_grad_test.cpp -- bounded gradients: what tests/python/nn/weights/test_utils.py
// cannot ask.
#include "ebb/nn/clip_grad.h"

#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "tests/optim/parameter.h"

namespace ebb::nn::utils {
namespace {

using ebb::testing::parameter;
using ebb::testing::to_vector;
using Doubles = std::vector<double>;

TEST(ClipGradNorm, RefusesNoTensors) {
  EXPECT_EQ(error_of<ValueError>([] { clip_grad_norm_({Tensor()}, 1); }),
            "clip_grad_norm_: needs tensors, got nothing as parameter 0");
}

TEST(ClipGradNorm, RefusesReadOnlyGradientsBeforeItWrites) {
  const Tensor first = parameter({0.0}, {3.0});
  const Tensor second = parameter({0.0}, {4.0});
  grad_of(second).impl()->storage->mark_read_only();
  EXPECT_THROW(clip_grad_norm_({first, second}, 1.0), ValueError);
  EXPECT_EQ(to_vector<double>(grad_of(first)), Doubles{3.0});
}

}  // namespace
}  // namespace ebb::nn::utils
