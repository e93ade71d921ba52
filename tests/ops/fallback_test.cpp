// tests/ops/fallback_test.cpp -- a device without kernels borrows those of the CPU.
#include "ebb/ops/fallback.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/core/log.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/ops.h"
#include "ebb/ops/registry.h"
#include "tests/ops/op_test_support.h"

namespace ebb {
namespace {

constexpr Device kToy{DeviceType::custom, 0};

/// The toy device's memory is ordinary memory, so that copying is easy.
Tensor moved(const Tensor& tensor, Device device) {
  const Tensor out = empty(tensor.sizes(), tensor.dtype(), device);
  std::memcpy(out.data_ptr(), tensor.data_ptr(), tensor.nbytes());
  return out;
}
Tensor to_cpu(const Tensor& tensor) { return moved(tensor, {}); }

std::vector<std::string>& warnings() {
  static std::vector<std::string> lines;
  return lines;
}

class Fallback : public ::testing::Test {
 protected:
  void SetUp() override { ops::set_device_copies(Backend::custom, {to_cpu, moved}); }
  void TearDown() override {
    ops::set_device_copies(Backend::custom, {});
    ops::set_kernel_fallback(true);
    set_log_level(0);
    set_log_sink(nullptr);
  }
  const Tensor x_ = moved(count_up({3}), kToy);
};

TEST_F(Fallback, RunsOnTheCpuAndComesBack) {
  const Tensor sum = ops::add(x_, x_);
  EXPECT_EQ(sum.device(), kToy);
  EXPECT_EQ(floats(to_cpu(sum)), (Floats{0, 2, 4}));
}

TEST_F(Fallback, ServesOpsOfEveryFamily) {
  EXPECT_EQ(floats(to_cpu(ops::sum(x_))), (Floats{3}));
  const auto [values, indices] = ops::max(x_, 0);
  EXPECT_EQ(values.device(), kToy);
  EXPECT_EQ(ints(to_cpu(indices)), (Ints{2}));
  const Tensor both[] = {x_, x_};
  EXPECT_EQ(floats(to_cpu(ops::cat(both))), (Floats{0, 1, 2, 0, 1, 2}));
}

TEST_F(Fallback, WarnsOncePerOp) {
  warnings().clear();
  set_log_level(1);
  set_log_sink([](int, const std::string& text) { warnings().push_back(text); });
  for (int round = 0; round < 3; ++round) ops::tanh(x_);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_EQ(warnings()[0], "tanh: no kernel on " + to_string(kToy) +
                               ", running on the cpu with copies there and back");
}

TEST_F(Fallback, CanBeRefused) {
  ops::set_kernel_fallback(false);
  EXPECT_EQ(error_of<NotImplementedError>([&] { ops::exp(x_); }),
            "exp: no kernel for dtype float32 on " + to_string(kToy));
}

TEST_F(Fallback, NeedsToKnowHowToCopy) {
  ops::set_device_copies(Backend::custom, {});
  EXPECT_EQ(error_of<NotImplementedError>([&] { ops::log(x_); }),
            "log: no kernel for dtype float32 on " + to_string(kToy));
}

TEST_F(Fallback, IsNotUsedWhereADeviceHasAKernel) {
  const auto* info = &kernels::all_kernels()[0];
  for (const kernels::KernelInfo& one : kernels::all_kernels()) {
    if (std::string(one.name) == "neg") info = &one;
  }
  const kernels::UnaryKernel kernel = [](const kernels::Context&, const kernels::TensorView&,
                                         const kernels::TensorView& out) {
    std::fill_n(out.as<float>(), out.numel, 7.0f);
  };
  const kernels::KernelKey key{Backend::custom, Layout::strided, DType::float32};
  ops::register_kernel("neg", info->signature, key, reinterpret_cast<void (*)()>(kernel));
  EXPECT_EQ(floats(to_cpu(ops::neg(x_))), Floats(3, 7.0f));
  ops::register_kernel("neg", info->signature, key, nullptr);
}

TEST(Registry, RefusesUnknownNamesAndOtherSignatures) {
  EXPECT_EQ(error_of<ValueError>([] { ops::register_kernel("nope", 0, {}, nullptr); }),
            "register_kernel: the name must be that of a kernel, got nope");
  const std::string text =
      error_of<ValueError>([] { ops::register_kernel("neg", 1, {}, nullptr); });
  EXPECT_NE(text.find("got 1\nhint: build the plug-in with the headers of this version"),
            std::string::npos)
      << text;
}

TEST(Registry, TellsWhatTheCpuRuns) {
  EXPECT_EQ(ebb_kernel_dtypes("nope"), -1);
  EXPECT_NE(ebb_kernel_dtypes("add") & (1 << static_cast<int>(DType::float32)), 0);
}

}  // namespace
}  // namespace ebb
