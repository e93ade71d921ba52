// tests/device/transfer_test.cpp -- tensors on a device: copies, views, memory, and refusals.
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/eye.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/floor_divide.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/full_like.h"
#include "ebb/autograd/ops/linspace.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/pow.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/uniform_.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/random.h"
#include "ebb/nn/clip_grad.h"
#include "ebb/optim/adam.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

class Transfer : public OnSim {
 protected:
  Tensor on_sim(const Tensor& tensor) const { return to_device(tensor, device_); }
};

TEST_F(Transfer, GoesThereAndBack) {
  const Tensor x = count_up({2, 3});
  const Tensor y = on_sim(x);
  EXPECT_EQ(y.device(), device_);
  EXPECT_EQ(back(y), floats(x));
  EXPECT_EQ(back(to_device(y, other_)), floats(x));  // between two devices of the plug-in
}

TEST_F(Transfer, ToWhereATensorIsGivesTheTensor) {
  const Tensor x = count_up({3});
  EXPECT_TRUE(to_device(x, {}).is_same(x));
  const Tensor y = on_sim(x);
  EXPECT_TRUE(to_device(y, device_).is_same(y));
}

TEST_F(Transfer, TakesViewsAndEmptyAndScalarTensors) {
  const Tensor x = count_up({3, 4});
  EXPECT_EQ(back(on_sim(transpose(x, 0, 1))), floats(transpose(x, 0, 1)));
  EXPECT_EQ(back(on_sim(select(x, 1, 2))), (Floats{2, 6, 10}));
  const int64_t wide[] = {2, 3};
  EXPECT_EQ(back(on_sim(expand(count_up({3}), wide))), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(back(transpose(on_sim(x), 0, 1)), floats(transpose(x, 0, 1)));
  EXPECT_EQ(on_sim(zeros(Shape{0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(on_sim(full(Shape{}, 7)).item<int64_t>(), 7);
}

TEST_F(Transfer, ReadsTheSourceBeforeItReturns) {
  const Tensor x = full(Shape{1000}, 1.0f);
  const Tensor y = on_sim(x);
  fill_(x, 2);  // the copy may still be under way
  EXPECT_EQ(back(y), Floats(1000, 1.0f));
}

TEST_F(Transfer, ViewsShareMemoryAndVersion) {
  const Tensor x = on_sim(count_up({2, 3}));
  const Tensor row = select(x, 0, 1);
  EXPECT_EQ(row.device(), device_);
  EXPECT_EQ(row.impl()->storage, x.impl()->storage);
  fill_(row, 9);
  EXPECT_EQ(back(x), (Floats{0, 1, 2, 9, 9, 9}));
  EXPECT_EQ(x.version(), 1u);
}

TEST_F(Transfer, CopyGoesAcrossDevicesAndConverts) {
  const Tensor x = on_sim(zeros(Shape{2, 3}));
  copy_(x, count_up({2, 3}, DType::int64));
  EXPECT_EQ(back(x), (Floats{0, 1, 2, 3, 4, 5}));
  copy_(select(x, 1, 0), full(Shape{}, 8.0));
  EXPECT_EQ(back(x), (Floats{8, 1, 2, 8, 4, 5}));
  const Tensor host = zeros(Shape{2, 3}, DType::float64);
  copy_(host, x);
  EXPECT_EQ(floats(host), (Floats{8, 1, 2, 8, 4, 5}));
  const Tensor far = to_device(zeros(Shape{2, 3}), other_);
  copy_(far, x);
  EXPECT_EQ(back(far), (Floats{8, 1, 2, 8, 4, 5}));
  EXPECT_EQ(x.version(), 2u);
}

TEST_F(Transfer, OverlappingCopiesWithinADeviceAreSafe) {
  const Tensor x = on_sim(count_up({5}));
  copy_(slice(x, 0, 1, 5), slice(x, 0, 0, 4));
  EXPECT_EQ(back(x), (Floats{0, 0, 1, 2, 3}));
}

TEST_F(Transfer, CreationOpsMakeTensorsThere) {
  EXPECT_EQ(back(zeros(Shape{2}, DType::float32, device_)), (Floats{0, 0}));
  EXPECT_EQ(back(ones(Shape{2}, DType::int32, device_)), (Floats{1, 1}));
  EXPECT_EQ(back(full(Shape{2}, 2.5, std::nullopt, device_)), (Floats{2.5, 2.5}));
  EXPECT_EQ(back(arange(4, std::nullopt, device_)), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(back(linspace(0, 1, 3, std::nullopt, device_)), (Floats{0, 0.5, 1}));
  EXPECT_EQ(back(eye(2, std::nullopt, std::nullopt, device_)), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(back(full_like(zeros(Shape{2}, DType::int64, device_), 3)), (Floats{3, 3}));
}

TEST_F(Transfer, DefaultDeviceBelongsToTheThread) {
  const DeviceGuard guard(device_);
  EXPECT_EQ(zeros(Shape{1}).device(), device_);
  EXPECT_EQ(zeros(Shape{1}, DType::float32, Device{}).device(), Device{});
  Device seen;
  std::thread([&] { seen = zeros(Shape{1}).device(); }).join();
  EXPECT_EQ(seen, Device{});
}

TEST_F(Transfer, HostReadsAreRefusedOrWait) {
  const Tensor x = on_sim(full(Shape{1}, 3.0f));
  EXPECT_EQ(x.item<float>(), 3.0f);
  EXPECT_EQ(error_of<ValueError>([&] { x.data<float>(); }),
            "data: needs memory of the cpu, got a tensor on " + name_ + "\n" +
                "hint: to_device(tensor, {}) copies it, in Python tensor.cpu()");
  EXPECT_NE(x.data_ptr(), nullptr);
}

TEST_F(Transfer, ItsMemoryFaultsWhenTheCpuReadsIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Tensor x = on_sim(full(Shape{1}, 3.0f));
  EXPECT_DEATH(
      {
        volatile float* const first = static_cast<float*>(x.data_ptr());
        std::exit(static_cast<int>(*first));
      },
      "");
}

TEST_F(Transfer, MixingDevicesNamesBoth) {
  const Tensor x = on_sim(count_up({3}));
  const Tensor y = count_up({3});
  EXPECT_EQ(error_of<ValueError>([&] { add(x, y); }),
            "add: all operands must be on one device, got " + name_ + " and cpu\n" +
                "hint: move one with to(device)");
  EXPECT_EQ(error_of<ValueError>([&] { matmul(y, x); }),
            "matmul: all operands must be on one device, got cpu and " + name_ + "\n" +
                "hint: move one with to(device)");
  EXPECT_EQ(error_of<ValueError>([&] { add(x, to_device(y, other_)); }),
            "add: all operands must be on one device, got " + name_ + " and " + other_name_ + "\n" +
                "hint: move one with to(device)");
  const Tensor both[] = {x, y};
  EXPECT_EQ(error_of<ValueError>([&] { cat(both); }).rfind("cat: all operands must be on one", 0),
            0u);
}

TEST_F(Transfer, NumbersOfTheCpuMixWithAnyDevice) {
  const Tensor x = on_sim(count_up({3}));
  const Tensor two = full(Shape{}, 2.0f);
  EXPECT_EQ(back(mul(x, two)), (Floats{0, 2, 4}));
  EXPECT_EQ(back(mul(two, x)), (Floats{0, 2, 4}));
  EXPECT_EQ(back(div(x, two)), (Floats{0, 0.5, 1}));
  mul_(x, two);
  EXPECT_EQ(back(x), (Floats{0, 2, 4}));
  EXPECT_EQ(back(pow(x, two)), (Floats{0, 4, 16}));
  const Tensor counts = on_sim(count_up({3}, DType::int64));
  EXPECT_EQ(back(floor_divide(counts, full(Shape{}, 2))), (Floats{0, 0, 1}));
  EXPECT_EQ(error_of<ValueError>([&] {
              floor_divide(counts, full(Shape{}, 0));
            }).rfind("floor_divide: an integer divisor must not be 0", 0),
            0u);
  EXPECT_EQ(error_of<ValueError>([&] {
              mul_(full(Shape{}, 2.0f), on_sim(two));
            }).rfind("mul_: all operands must be on one device, got ", 0),
            0u);
}

TEST_F(Transfer, MemoryIsCountedAndFreed) {
  synchronize(device_);
  const DeviceMemoryStats before = device_memory_stats(device_);
  const int64_t given = sim().live_bytes(0);
  {
    const Tensor x = empty(Shape{1024}, DType::float32, device_);
    EXPECT_EQ(device_memory_stats(device_).live - before.live, 4096);
    EXPECT_EQ(device_memory_stats(device_).blocks - before.blocks, 1);
    const Tensor y = mul(add(x, x), x);
    EXPECT_GE(device_memory_stats(device_).peak - before.live, 3 * 4096);
  }
  EXPECT_EQ(device_memory_stats(device_).live, before.live);
  EXPECT_EQ(sim().live_bytes(0), given);
  reset_peak_device_memory(device_);
  EXPECT_EQ(device_memory_stats(device_).peak, before.live);
}

TEST_F(Transfer, MemoryOfAnotherDeviceIsCountedApart) {
  const int64_t before = device_memory_stats(device_).live;
  const Tensor x = empty(Shape{1024}, DType::float32, other_);
  EXPECT_EQ(device_memory_stats(device_).live, before);
  EXPECT_GE(device_memory_stats(other_).live, 4096);
}

TEST_F(Transfer, FullMemoryIsAnErrorThatTells) {
  const int64_t live = sim().live_bytes(0);
  sim().set_memory_limit(live + 1000);
  const std::string text =
      error_of<OutOfMemoryError>([&] { empty(Shape{1024}, DType::float32, device_); });
  EXPECT_EQ(text.rfind("allocate: needs 4096 bytes, which " + name_ + " did not give (live ", 0),
            0u);
  EXPECT_NE(text.find("): the simulated memory is full"), std::string::npos) << text;
  EXPECT_EQ(sim().live_bytes(0), live);
}

TEST_F(Transfer, FailedCopyIsAnErrorThatTells) {
  const int64_t live = sim().live_bytes(0);
  sim().fail_next_copy();
  EXPECT_EQ(error_of<DeviceError>([&] { on_sim(count_up({3})); }),
            "copy_to_device: " + name_ + " failed: the copy was told to fail");
  EXPECT_EQ(sim().live_bytes(0), live);
}

TEST_F(Transfer, RandomFillInPlaceDrawsWhatTheCpuDraws) {
  default_generator().set_seed(5);
  const Tensor there = uniform_(zeros(Shape{4}, DType::float32, device_));
  default_generator().set_seed(5);
  EXPECT_EQ(back(there), floats(uniform_(zeros(Shape{4}))));
}

}  // namespace
}  // namespace ebb
