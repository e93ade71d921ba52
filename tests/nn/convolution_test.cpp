// tests/nn/convolution_test.cpp -- convolutions as modules.
#include "ebb/nn/convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/layers.h"
#include "ebb/nn/pooling.h"
#include "tests/ops/op_test_support.h"

namespace ebb::nn {
namespace {

TEST(Conv2d, SumsWhatItsKernelSees) {
  Conv2d layer(1, 1, 2, {.stride = Pair(1, 2), .bias = false});
  fill_(detached(layer.weight), 1);
  // Rows 0 1 2 3 | 4 5 6 7: windows {0, 1, 4, 5} and {2, 3, 6, 7}.
  EXPECT_EQ(floats(layer(count_up(Shape{1, 1, 2, 4}))), (Floats{10, 18}));
  EXPECT_EQ(layer.parameters().size(), 1u);
}

TEST(Conv2d, DrawsWithinItsBound) {
  const Conv2d layer(4, 8, 3, {.groups = 2});
  EXPECT_EQ(layer.weight.shape(), (Shape{8, 2, 3, 3}));
  EXPECT_EQ(layer.bias.shape(), Shape{8});
  float largest = 0;
  for (const float value : floats(layer.weight)) largest = std::max(largest, std::fabs(value));
  const float bound = 1 / std::sqrt(18.0f);  // 2 channels of 3 x 3
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.9f * bound);
}

TEST(Conv2d, RefusesChannelsThatGroupsDoNotDivide) {
  try {
    Conv2d(3, 4, 1, {.groups = 2});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "Conv2d: needs channels that groups divide, got in_channels 3, out_channels 4 and "
                 "groups 2");
  }
}

TEST(Conv2d, RefusesEmptyKernels) {
  try {
    Conv2d(1, 1, Pair(2, 0));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "Conv2d: needs sizes of at least 1, got in_channels 1, out_channels 1 and "
                 "kernel_size [2, 0]");
  }
}

TEST(ConvTranspose2d, SpreadsEachElement) {
  ConvTranspose2d layer(1, 1, 2, {.stride = 2, .output_padding = Pair(0, 1), .bias = false});
  copy_(detached(layer.weight), count_up(Shape{1, 1, 2, 2}));
  EXPECT_EQ(floats(layer(ones(Shape{1, 1, 1, 1}))), (Floats{0, 1, 0, 2, 3, 0}));
}

TEST(Conv2d, TrainsInANetwork) {
  Sequential net(Conv2d(1, 2, 3, {.padding = 1}), ReLU(), MaxPool2d(2));
  backward(sum(net(count_up(Shape{2, 1, 4, 4}))));
  EXPECT_EQ(grad_of(net.parameters()[0]).shape(), (Shape{2, 1, 3, 3}));
  EXPECT_EQ(grad_of(net.parameters()[1]).shape(), Shape{2});
}

}  // namespace
}  // namespace ebb::nn
