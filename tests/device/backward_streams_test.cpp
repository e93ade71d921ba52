// tests/device/backward_streams_test.cpp -- which stream a node runs on, and who waits for whom.
#include <chrono>
#include <random>

#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "tests/device/backward_support.h"

namespace ebb {
namespace {

void let_time_pass() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

/// Both ways to run nodes of devices: on their workers, and on the caller's thread.
class BackwardStreams : public OnDevices, public ::testing::WithParamInterface<bool> {
 private:
  const ParallelScope parallel_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(OnWorkersAndNot, BackwardStreams, ::testing::Bool());

/// What `body` makes, with `stream` current; it waits for the default stream, and that for it.
template <typename Body>
auto on_stream(Stream stream, Body body) {
  order_streams({stream.device, 0}, stream);
  const StreamGuard guard(stream);
  auto made = body();
  order_streams(stream, {stream.device, 0});
  return made;
}

TEST_P(BackwardStreams, AreThoseOfTheForwardOps) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1});
  Seen on_default, on_side;
  const Tensor y = watched(x * 1, on_default);
  const Tensor z = on_stream(side, [&] { return watched(y * 1, on_side); });
  backward(sum(z));
  EXPECT_EQ(on_default.stream, (Stream{device_, 0}));
  EXPECT_EQ(on_side.stream, side);
  EXPECT_EQ(current_stream(device_), (Stream{device_, 0}));
}

TEST_P(BackwardStreams, ConsumerWaitsForItsProducer) {
  const Stream first = new_stream(device_), second = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = on_stream(first, [&] { return x * x; });
  const Tensor z = on_stream(second, [&] { return y * y; });
  const Tensor seed = ones(Shape{3}, DType::float32, device_);
  synchronize(device_);
  Hold hold(second);  // the gradient of y cannot be there before it is let go
  backward(z, seed);
  let_time_pass();
  EXPECT_FALSE(is_idle(first));
  hold.let_go();
  EXPECT_EQ(back(grad_of(x)), (Floats{4, 32, 108}));  // 4 x^3
}

TEST_P(BackwardStreams, CallerWaitsForTheLeaves) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = on_stream(side, [&] { return x * x; });
  const Tensor seed = ones(Shape{3}, DType::float32, device_);
  synchronize(device_);
  Hold hold(side);
  backward(y, seed);
  const Tensor twice = add(grad_of(x), grad_of(x));  // on the caller's stream, without a wait
  let_time_pass();
  EXPECT_FALSE(is_idle({device_, 0}));
  hold.let_go();
  EXPECT_EQ(back(twice), (Floats{4, 8, 12}));
}

TEST_P(BackwardStreams, CallerMayBeOnASideStreamItself) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = x * x;
  const Tensor seed = ones(Shape{3}, DType::float32, device_);
  synchronize(device_);
  const StreamGuard guard(side);
  Hold hold({device_, 0});
  backward(y, seed);
  backward(x * 1, seed);  // adds to the gradient on the side stream
  let_time_pass();
  EXPECT_FALSE(is_idle(side));
  hold.let_go();
  EXPECT_EQ(back(grad_of(x)), (Floats{3, 5, 7}));
}

TEST_P(BackwardStreams, NodesWaitForTheSeed) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = on_stream(side, [&] { return x * x; });
  const Tensor one = ones(Shape{3}, DType::float32, device_);
  synchronize(device_);
  Hold hold({device_, 0});
  backward(y, add(one, one));  // the seed is not there yet
  let_time_pass();
  EXPECT_FALSE(is_idle(side));
  hold.let_go();
  EXPECT_EQ(back(grad_of(x)), (Floats{4, 8, 12}));
}

TEST_P(BackwardStreams, CallerWaitsForWhatGradReturns) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = on_stream(side, [&] { return x * x; });
  const Tensor z = on_stream(side, [&] { return y * y; });
  const Tensor roots[] = {z}, inputs[] = {y}, seeds[] = {ones(Shape{3}, DType::float32, device_)};
  synchronize(device_);
  Hold hold(side);
  const Tensor of_y = add(grad(roots, inputs, seeds)[0], 0.0);
  hold.let_go();
  EXPECT_EQ(back(of_y), (Floats{2, 8, 18}));
}

TEST_P(BackwardStreams, CallerWaitsForRetainedGradients) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = on_stream(side, [&] { return x * x; });
  retain_grad(y);
  const Tensor seed = ones(Shape{3}, DType::float32, device_);
  const Tensor z = on_stream(side, [&] { return y * y; });
  synchronize(device_);
  Hold hold(side);
  backward(z, seed);
  const Tensor of_y = add(grad_of(y), 0.0);
  hold.let_go();
  EXPECT_EQ(back(of_y), (Floats{2, 8, 18}));
}

TEST_P(BackwardStreams, HooksHaveTheStreamOfTheirNode) {
  const Stream side = new_stream(device_);
  const Tensor x = leaf_on(device_, {1});
  const Tensor y = on_stream(side, [&] { return x * 2; });
  Stream of_tensor, of_leaf;
  register_hook(y, [&](const Tensor& grad) {
    of_tensor = current_stream(device_);
    return grad * 3;
  });
  register_post_accumulate_grad_hook(x, [&](const Tensor&) { of_leaf = current_stream(device_); });
  backward(sum(y));
  EXPECT_EQ(of_tensor, side);
  EXPECT_EQ(of_leaf, (Stream{device_, 0}));
  EXPECT_EQ(back(grad_of(x)), Floats{6});
}

TEST_P(BackwardStreams, SumsWaitForAllTheirParts) {
  const Stream first = new_stream(device_), second = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  const Tensor y = x * 1;
  const Tensor a = on_stream(first, [&] { return y * y; });
  const Tensor b = on_stream(second, [&] { return y * y; });
  const Tensor roots[] = {a, b};
  const std::vector<Tensor> seeds(2, ones(Shape{3}, DType::float32, device_));
  synchronize(device_);
  for (const Stream late : {first, second}) {
    Hold hold(late);
    backward(roots, seeds, {.retain_graph = true});
    let_time_pass();
    hold.let_go();
    EXPECT_EQ(back(grad_of(x)), (Floats{4, 8, 12}));
    set_grad(x, {});
  }
}

TEST_P(BackwardStreams, SumsDoNotWriteWhatAnotherStreamReads) {
  const Stream first = new_stream(device_), second = new_stream(device_);
  const Tensor x = leaf_on(device_, {1, 2}), y = leaf_on(device_, {1, 2});
  const Tensor of_y = on_stream(second, [&] { return y * y; });
  // Sends its gradient after `both` has sent one.
  const Tensor later = on_stream(second, [&] { return of_y * 5; });
  const Tensor of_x = on_stream(first, [&] { return x * x; });
  const Tensor both = of_x + of_y;  // sends one buffer to either
  const Tensor roots[] = {both * 1, later};
  const std::vector<Tensor> seeds(2, ones(Shape{2}, DType::float32, device_));
  synchronize(device_);
  Hold hold(first);
  backward(roots, seeds);
  let_time_pass();
  hold.let_go();
  EXPECT_EQ(back(grad_of(x)), (Floats{2, 4}));
  EXPECT_EQ(back(grad_of(y)), (Floats{12, 24}));
}

TEST_P(BackwardStreams, OfOtherDevicesAreWaitedFor) {
  const Stream there = new_stream(other_);
  const Tensor x = leaf_on(device_, {1, 2, 3});
  order_streams({other_, 0}, there);
  Tensor y;
  {
    const StreamGuard guard(there);
    const Tensor far = to_device(x * 2, other_);
    y = far * far;
  }
  const Tensor seed = ones(Shape{3}, DType::float32, other_);
  synchronize(other_);
  Hold hold(there);
  backward(y, seed);
  hold.let_go();
  EXPECT_EQ(back(grad_of(x)), (Floats{8, 16, 24}));
}

/// A graph over two devices and the CPU whose ops run on streams taken by chance; `devices` may
/// name the CPU everywhere.
Floats random_gradients(uint32_t seed, std::span<const Device> devices, bool has_streams) {
  std::mt19937 random(seed);
  const auto pick = [&](size_t count) { return random() % count; };
  std::vector<Tensor> leaves, values;
  for (const Device device : devices) {
    leaves.push_back(requires_grad_(to_device(mul(count_up({32}), 0.01), device)));
    values.push_back(leaves.back());
  }
  std::vector<Stream> streams;
  for (const Device device : devices) {
    for (int count = 0; count < 3; ++count) streams.push_back(new_stream(device));
  }
  for (const Device used : devices) synchronize(used);
  for (int step = 0; step < 60; ++step) {
    const Device device = devices[pick(devices.size())];
    const Stream stream = streams[pick(streams.size())];
    const size_t left = pick(values.size()), right = pick(values.size());
    const bool multiplies = pick(2) == 0;
    // Forward, the program orders its streams; only backward is the engine's.
    const StreamGuard guard(has_streams ? stream : current_stream(stream.device));
    const Tensor a = to_device(values[left], device), b = to_device(values[right], device);
    values.push_back(multiplies ? a * b * 0.7 : a + b * 0.3);
    for (const Device used : devices) synchronize(used);
  }
  Tensor total = to_device(values[0], Device{});
  for (const Tensor& value : values) total = total + to_device(value, Device{});
  backward(sum(total));
  Floats all;
  for (const Tensor& leaf : leaves) {
    const Tensor grad = grad_of(leaf);
    const Floats values = grad.defined() ? floats(to_device(grad, Device{})) : Floats();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_P(BackwardStreams, NeverChangeAGradient) {
  const Device devices[] = {device_, other_, Device{}};
  for (uint32_t seed = 0; seed < 12; ++seed) {
    sim().set_delay(0, 0);
    const Floats expected = [&] {
      const ParallelScope off(false);
      return random_gradients(seed, devices, false);
    }();
    sim().set_delay(300, seed);
    EXPECT_EQ(random_gradients(seed, devices, true), expected) << seed;
  }
  sim().set_delay(200, 7);
}

TEST_P(BackwardStreams, FreeTheDevicesMemory) {
  synchronize(device_);
  const int64_t before = device_memory_stats(device_).live;
  {
    const Stream side = new_stream(device_);
    const Tensor x = leaf_on(device_, {1, 2, 3});
    const Tensor y = on_stream(side, [&] { return x * x; });
    const Tensor bad = with_rule(y, [](const Tensor&) -> Tensor { throw ValueError("no"); });
    error_of<ValueError>([&] { backward(sum(bad * y)); });
    backward(sum(x * x));
  }
  EXPECT_EQ(device_memory_stats(device_).live, before);
}

}  // namespace
}  // namespace ebb
