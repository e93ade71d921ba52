// tests/ops/meta_test.cpp -- tensors on meta from C++: no memory, no kernel, the same graph.
#include "ebb/core/tensor/meta.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ebb/autograd/engine/grad.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/nonzero.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/device/device_block.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb {
namespace {

Device meta() { return parse_device("meta"); }

TEST(Meta, IsNamedAndCountedAsADevice) {
  EXPECT_TRUE(is_meta(meta()));
  EXPECT_FALSE(is_meta(Device{}));
  EXPECT_EQ(to_string(meta()), "meta");
  for (const Device device : all_devices()) EXPECT_FALSE(is_meta(device));
  const int64_t before = device_memory_stats(meta()).live;
  const Tensor x = zeros({1000}, DType::float64, meta());
  EXPECT_EQ(device_memory_stats(meta()).live - before, 8000);
}

TEST(Meta, GivesEachTensorAddressesOfItsOwn) {
  const Tensor x = zeros({100}, DType::float32, meta()), y = zeros({100}, DType::float32, meta());
  EXPECT_GE(std::abs(static_cast<char*>(x.data_ptr()) - static_cast<char*>(y.data_ptr())), 400);
  EXPECT_EQ(narrow(x, 0, 10, 5).storage_offset(), 10);
}

TEST(Meta, InfersShapesForwardAndBackward) {
  const Tensor x = zeros({int64_t{1} << 20, int64_t{1} << 20}, DType::float32, meta());
  requires_grad_(x);
  const Tensor loss = sum(matmul(x, transpose(x, 0, 1)));
  EXPECT_TRUE(is_meta(loss));
  backward(loss);
  EXPECT_EQ(grad_of(x).shape(), x.shape());
  EXPECT_TRUE(is_meta(grad_of(x)));
}

TEST(Meta, ThrowsWhereElementsAreNeeded) {
  const Tensor x = zeros({3}, DType::float32, meta());
  EXPECT_THROW(sum(x).item<float>(), NoElements);
  EXPECT_THROW(x.data<float>(), NotOnHost);
  EXPECT_THROW(to_device(x, Device{}), NoElements);
  EXPECT_THROW(nonzero(x), NotImplementedError);
}

}  // namespace
}  // namespace ebb
