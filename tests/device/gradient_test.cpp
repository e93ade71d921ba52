// tests/device/gradient_test.cpp -- gradients through graphs on devices equal those of the CPU.
#include <cmath>
#include <span>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mean.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/nn/clip_grad.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

class Gradients : public OnSim {
 protected:
  Tensor on_sim(const Tensor& tensor) const { return to_device(tensor, device_); }
  static Tensor leaf(const Tensor& tensor) { return requires_grad_(clone(detach(tensor))); }
};

TEST_F(Gradients, OfATransferReturnsToTheSource) {
  const Tensor x = leaf(count_up({3}));
  const Tensor y = on_sim(x);
  EXPECT_TRUE(y.requires_grad());
  backward(sum(mul(y, y)));
  EXPECT_EQ(grad_of(x).device(), Device{});
  EXPECT_EQ(floats(grad_of(x)), (Floats{0, 2, 4}));
}

TEST_F(Gradients, OfALeafOnTheDeviceStayThere) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  backward(sum(mul(x, x)));
  EXPECT_EQ(grad_of(x).device(), device_);
  EXPECT_EQ(back(grad_of(x)), (Floats{0, 2, 4}));
  backward(sum(x));  // adds up
  EXPECT_EQ(back(grad_of(x)), (Floats{1, 3, 5}));
}

/// A function whose middle may be on a device: matmul and add there, tanh and mean by fallback.
Tensor mixed(const Tensor& x, const Tensor& w, Device device) {
  const Tensor hidden = tanh(matmul(to_device(x, device), to_device(w, device)));
  const Tensor here = to_device(add(hidden, mul(hidden, hidden)), Device{});
  return mean(exp(here));
}

TEST_F(Gradients, ThroughMixedGraphsEqualThoseOfTheCpu) {
  const Tensor x = leaf(mul(count_up({3, 2}), 0.1));
  const Tensor w = leaf(mul(count_up({2, 4}), 0.3));
  const Tensor x_too = leaf(x), w_too = leaf(w);
  backward(mixed(x, w, {}));
  backward(mixed(x_too, w_too, device_));
  expect_as_on_cpu(floats(grad_of(x_too)), floats(grad_of(x)));
  expect_as_on_cpu(floats(grad_of(w_too)), floats(grad_of(w)));
}

TEST_F(Gradients, OfSecondOrderGoThroughTransfers) {
  const Tensor x = leaf(full(Shape{}, 2.0f));
  const Tensor y = to_device(on_sim(x), {});
  const Tensor cube = mul(on_sim(mul(y, y)), on_sim(x));
  const Tensor roots[] = {cube}, inputs[] = {x};
  const Tensor first = grad(roots, inputs, {}, {.create_graph = true})[0];
  EXPECT_EQ(first.device(), Device{});
  const Tensor again[] = {first};
  EXPECT_EQ(grad(again, inputs)[0].item<float>(), 12.0f);  // 6x
}

TEST_F(Gradients, OfANumberOfTheCpuReturnThere) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  const Tensor scale = leaf(full(Shape{}, 2.0f));
  backward(sum(mul(x, scale)));
  EXPECT_EQ(grad_of(scale).device(), Device{});
  EXPECT_EQ(grad_of(scale).item<float>(), 3.0f);
  EXPECT_EQ(back(grad_of(x)), (Floats{2, 2, 2}));
}

TEST_F(Gradients, OfACopyAcrossDevicesReturnToTheSource) {
  const Tensor src = leaf(count_up({3}));
  const Tensor target = mul(on_sim(zeros(Shape{2, 3})), 1);
  copy_(target, src);
  backward(sum(mul(target, target)));
  EXPECT_EQ(grad_of(src).device(), Device{});
  EXPECT_EQ(floats(grad_of(src)), (Floats{0, 4, 8}));
}

TEST_F(Gradients, NoticeAWriteToASavedTensorThere) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  const Tensor y = mul(x, 1);
  const Tensor z = sum(mul(y, y));
  fill_(y, 3);
  const std::string text = error_of<AutogradError>([&] { backward(z); });
  EXPECT_NE(text.find("modified in place by fill_"), std::string::npos) << text;
}

TEST_F(Gradients, ByFallbackLeaveAWriteThatIsNoticed) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  const Tensor y = mul(x, 1);
  const Tensor z = sum(mul(y, y));
  neg_(y);
  const std::string text = error_of<AutogradError>([&] { backward(z); });
  EXPECT_NE(text.find("modified in place by neg_"), std::string::npos) << text;
}

TEST_F(Gradients, OnAWrongDeviceAreRefused) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  EXPECT_EQ(error_of<ValueError>([&] { set_grad(x, zeros(Shape{3})); }),
            "grad: needs the tensor's device " + name_ + ", got cpu");
  EXPECT_EQ(error_of<ValueError>([&] {
              set_grad(x, on_sim(zeros(Shape{3})));
              set_data(x, zeros(Shape{3}));
            }),
            "data: needs memory on " + name_ + ", where the gradient or the history is, got cpu");
}

TEST_F(Gradients, SeedMustBeOnTheDeviceOfItsRoot) {
  const Tensor x = requires_grad_(on_sim(count_up({3})));
  const Tensor roots[] = {mul(x, 2)}, seeds[] = {full(Shape{3}, 1.0f)};
  EXPECT_EQ(error_of<ValueError>([&] { backward(roots, seeds); }),
            "backward: gradient 0 must be on its tensor's device " + name_ + ", got cpu");
  const Tensor scalars[] = {sum(mul(x, 2))}, numbers[] = {full(Shape{}, 3.0f)};
  backward(scalars, numbers);
  EXPECT_EQ(back(grad_of(x)), (Floats{6, 6, 6}));
}

TEST_F(Gradients, OfInPlaceOpsThatSaveWhatTheyOverwrite) {
  const Tensor x = requires_grad_(on_sim(add(count_up({3}), 1)));
  const Tensor y = mul(x, 1);
  mul_(y, 3);
  mul_(y, mul(x, 1));
  backward(sum(y));
  EXPECT_EQ(back(grad_of(x)), (Floats{6, 12, 18}));  // d(3 x^2)/dx
}

TEST_F(Gradients, OfATransferAreANodeOfTheirOwn) {
  const Tensor x = leaf(count_up({3}));
  const Tensor there = on_sim(mul(x, 2));
  EXPECT_EQ(autograd::grad_fn(there)->name(), std::string("ToDeviceBackward"));
  backward(sum(add(there, there)));
  EXPECT_EQ(floats(grad_of(x)), Floats(3, 4));
}

/// One parameter after five steps on x^2 summed.
template <typename Optimizer>
Floats trained(Device device, Optimizer&& make) {
  const Tensor x = requires_grad_(to_device(add(count_up({2, 3}), 1), device));
  auto optimizer = make(x);
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    backward(sum(mul(x, x)));
    nn::utils::clip_grad_norm_({x}, 5.0);
    optimizer.step();
  }
  EXPECT_EQ(x.device(), device);
  return floats(to_device(detach(x), Device{}));
}

TEST_F(Gradients, StepOptimizersAsOnTheCpu) {
  const auto adam = [](const Tensor& x) { return optim::Adam({x}, {.lr = 0.1}); };
  expect_as_on_cpu(trained(device_, adam), trained({}, adam));
  const auto sgd = [](const Tensor& x) { return optim::SGD({x}, {.lr = 0.1, .momentum = 0.9}); };
  expect_as_on_cpu(trained(device_, sgd), trained({}, sgd));
}

TEST_F(Gradients, FreeTheDevicesMemory) {
  synchronize(device_);
  const int64_t before = device_memory_stats(device_).live;
  for (int round = 0; round < 50; ++round) {
    const Tensor x = requires_grad_(on_sim(count_up({4, 4})));
    backward(sum(exp(matmul(x, mul(x, 0.1)))));
  }
  EXPECT_EQ(device_memory_stats(device_).live, before);
}

}  // namespace
}  // namespace ebb
