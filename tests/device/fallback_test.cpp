// tests/device/fallback_test.cpp -- a device without a kernel for an op borrows that of the CPU.
#include "ebb/ops/fallback.h"

#include <string>
#include <vector>

#include "ebb/autograd/ops/bernoulli.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/zero_.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/index.h"
#include "ebb/ops/loss.h"
#include "ebb/ops/matmul.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/reduce.h"
#include "ebb/ops/registry.h"
#include "ebb/ops/shape.h"
#include "ebb/ops/sort.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

std::vector<std::string>& warnings() {
  static std::vector<std::string> lines;
  return lines;
}

class Fallback : public OnSim {
 protected:
  Tensor on_sim(const Tensor& tensor) const { return to_device(tensor, device_); }
  const Tensor x_ = on_sim(count_up({3}));
};

TEST_F(Fallback, RunsOnTheCpuAndComesBack) {
  const Tensor difference = ops::sub(ops::add(x_, x_), on_sim(count_up({3})));
  EXPECT_EQ(difference.device(), device_);
  EXPECT_EQ(back(difference), (Floats{0, 1, 2}));
}

TEST_F(Fallback, ServesOpsOfEveryFamily) {
  EXPECT_EQ(back(ops::prod(ops::add(x_, Scalar(1)))), (Floats{6}));
  const auto [values, indices] = ops::max(x_, 0);
  EXPECT_EQ(values.device(), device_);
  EXPECT_EQ(ints(to_device(indices, {})), (Ints{2}));
  const Tensor both[] = {x_, x_};
  EXPECT_EQ(back(ops::cat(both)), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(back(ops::gather(x_, 0, on_sim(tensor_of<int64_t>({2, 0}, {2})))), (Floats{2, 0}));
  EXPECT_EQ(back(ops::softmax(zeros_like(x_), 0)), Floats(3, 1.0f / 3));
}

TEST_F(Fallback, WritesInPlace) {
  const Tensor y = on_sim(count_up({2, 3}));
  const uint32_t version = y.version();
  ops::exp_(zero_(y));
  EXPECT_EQ(back(y), Floats(6, 1.0f));
  EXPECT_EQ(y.version(), version + 2);
}

TEST_F(Fallback, WritesAViewAndNothingBesideIt) {
  const Tensor y = on_sim(count_up({2, 3}));
  ops::neg_(select(y, 1, 1));
  EXPECT_EQ(back(y), (Floats{0, -1, 2, 3, -4, 5}));
  ops::scatter_add_(select(y, 0, 0), 0, on_sim(tensor_of<int64_t>({0}, {1})),
                    on_sim(tensor_of<float>({10}, {1})));
  EXPECT_EQ(back(y), (Floats{10, -1, 2, 3, -4, 5}));
}

TEST_F(Fallback, LeavesAloneWhatOthersWroteBetweenTheElements) {
  const Tensor y = on_sim(count_up({2, 3}));
  const Tensor column = select(y, 1, 1);
  const Tensor host = host_copy(column);
  fill_(y, 9);  // as another stream might do while the CPU computes
  write_back(host, column);
  EXPECT_EQ(back(y), (Floats{9, 1, 9, 9, 4, 9}));
}

TEST_F(Fallback, WritesBackInOneCopyWhereThereAreNoGaps) {
  const Tensor y = on_sim(count_up({4, 3}));
  const auto copies_of = [&](const Tensor& target) {
    const Tensor host = host_copy(target);
    const int64_t before = sim().copy_count();
    write_back(host, target);
    return sim().copy_count() - before;
  };
  EXPECT_EQ(copies_of(y), 1);
  EXPECT_EQ(copies_of(transpose(y, 0, 1)), 1);
  EXPECT_EQ(copies_of(narrow(y, 0, 1, 2)), 1);
  EXPECT_EQ(copies_of(narrow(y, 1, 0, 2)), 4);  // a row each
  EXPECT_EQ(back(y), floats(count_up({4, 3})));
}

TEST_F(Fallback, WritesToOut) {
  const Tensor out = empty(Shape{3}, DType::float32, device_);
  ops::exp_out(zeros_like(x_), out);
  EXPECT_EQ(back(out), Floats(3, 1.0f));
}

TEST_F(Fallback, WarnsOncePerOp) {
  ops::forget_fallback_warnings();
  warnings().clear();
  set_log_level(1);
  set_log_sink([](LogPart, int, const std::string& text) { warnings().push_back(text); });
  for (int round = 0; round < 3; ++round) ops::tanh(x_);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_EQ(warnings()[0],
            "tanh: no kernel on " + name_ + ", running on the cpu with copies there and back");
}

TEST_F(Fallback, IsSaidToTheWarningSink) {
  ops::forget_fallback_warnings();
  warnings().clear();
  set_warning_sink([](const std::string& text) { warnings().push_back(text); });
  ops::tanh(x_);
  set_warning_sink(nullptr);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(Fallback, CanBeRefused) {
  ops::set_kernel_fallback(false);
  const std::string reason = ": no kernel for dtype float32 on " + name_ +
                             ", and kernel_fallback is off\n" +
                             "hint: set_kernel_fallback(true) runs it on the cpu";
  EXPECT_EQ(error_of<NotImplementedError>([&] { ops::exp(x_); }), "exp" + reason);
  EXPECT_EQ(error_of<NotImplementedError>([&] { ops::exp_(x_); }), "exp_" + reason);
  EXPECT_EQ(error_of<NotImplementedError>([&] { ops::cumsum(x_, 0); }), "cumsum" + reason);
  EXPECT_EQ(back(ops::add(x_, x_)), (Floats{0, 2, 4}));  // a kernel of its own
}

TEST_F(Fallback, IsNotUsedWhereADeviceHasAKernel) {
  const int64_t copies = sim().copy_count();
  const int64_t kernels = sim().kernel_count();
  const Tensor matrix = full(Shape{2, 2}, 3, DType::float32, device_);
  const Tensor result =
      ops::sum(ops::matmul(ops::mul(matrix, Scalar(2)), ops::add(matrix, matrix)));
  EXPECT_EQ(sim().kernel_count(), kernels + 5);
  EXPECT_EQ(sim().copy_count(), copies);
  EXPECT_EQ(back(result), (Floats{288}));
}

TEST_F(Fallback, UsesTheKernelRegisteredByHand) {
  const kernels::UnaryKernel kernel = [](const kernels::Context& context,
                                         const kernels::TensorView&,
                                         const kernels::TensorView& out) {
    const DevicePlugin& plugin = plugin_of("neg", context.device);
    plugin.fill(context.device.index, out.data, 0, static_cast<size_t>(out.numel) * 4,
                native_stream(context.stream));
  };
  const kernels::KernelKey key{backend_of(device_), Layout::strided, DType::float32};
  ops::register_kernel("neg", kernels::signature::neg, key, reinterpret_cast<void (*)()>(kernel));
  EXPECT_EQ(back(ops::neg(x_)), Floats(3, 0.0f));
  ops::register_kernel("neg", kernels::signature::neg, key, nullptr);
  EXPECT_EQ(back(ops::neg(x_)), (Floats{0, -1, -2}));
}

TEST_F(Fallback, TakesTheSameRandomNumbersAsTheCpu) {
  default_generator().set_seed(3);
  const Tensor there = rand(Shape{5}, DType::float32, device_);
  const Tensor drawn = bernoulli(full(Shape{4}, 0.5, DType::float32, device_));
  default_generator().set_seed(3);
  EXPECT_EQ(back(there), floats(rand(Shape{5})));
  EXPECT_EQ(back(drawn), floats(bernoulli(full(Shape{4}, 0.5))));
}

TEST_F(Fallback, KeepsTheErrorsOfTheCpu) {
  EXPECT_EQ(error_of<IndexError>([&] { ops::gather(x_, 0, on_sim(tensor_of<int64_t>({7}, {1}))); }),
            "gather: index must be at least 0 and below 3, got 7 at position [0]");
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
