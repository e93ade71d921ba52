// tests/device/stream_test.cpp -- streams and events: what runs after what.
#include "ebb/core/device/stream.h"

#include <thread>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/to_device.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

using Streams = OnSim;

TEST_F(Streams, CurrentOneIsTheDefaultUntilSet) {
  EXPECT_EQ(current_stream(device_), (Stream{device_, 0}));
  const Stream side = new_stream(device_);
  EXPECT_NE(side.id, 0);
  {
    const StreamGuard guard(side);
    EXPECT_EQ(current_stream(device_), side);
    EXPECT_EQ(current_stream(other_), (Stream{other_, 0}));
    Stream seen;
    std::thread([&] { seen = current_stream(device_); }).join();
    EXPECT_EQ(seen, (Stream{device_, 0}));
  }
  EXPECT_EQ(current_stream(device_), (Stream{device_, 0}));
}

TEST_F(Streams, AreHandedOutInTurn) {
  const Stream first = new_stream(other_);
  for (int more = 1; more < 32; ++more) EXPECT_NE(new_stream(other_), first);
  EXPECT_EQ(new_stream(other_), first);
}

TEST_F(Streams, NeverMadeAreRefused) {
  EXPECT_EQ(error_of<ValueError>([&] {
              set_current_stream({device_, 999});
            }),
            "stream: needs one that new_stream() made, got 999 of " + name_);
}

TEST_F(Streams, OfTheCpuIsOne) {
  EXPECT_EQ(new_stream({}), (Stream{}));
  set_current_stream({{}, 3});
  EXPECT_EQ(current_stream({}), (Stream{}));
  EXPECT_TRUE(is_idle({}));
  synchronize(Device{});
}

TEST_F(Streams, KernelsDoNotWaitForTheHost) {
  const Tensor x = full(Shape{4}, 1.0f, DType::float32, device_);
  Tensor y;
  {
    Hold hold({device_, 0});
    y = add(x, x);  // returns, though the stream does not run
    EXPECT_FALSE(is_idle({device_, 0}));
  }
  synchronize(device_);
  EXPECT_TRUE(is_idle({device_, 0}));
  EXPECT_EQ(back(y), Floats(4, 2.0f));
}

TEST_F(Streams, EventHoldsUpWhatComesAfterIt) {
  const Tensor x = full(Shape{4}, 1.0f, DType::float32, device_);
  const Tensor y = empty(Shape{4}, DType::float32, device_);
  synchronize(device_);
  const Stream side = new_stream(device_);
  Hold hold({device_, 0});
  add_out(x, x, y);  // y = 2, some time
  Event written(device_);
  written.record({device_, 0});
  EXPECT_FALSE(written.is_reached());
  written.wait(side);
  Tensor z;
  {
    const StreamGuard guard(side);
    z = mul(y, y);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_idle(side));  // it waits for a stream that is held up
  hold.let_go();
  written.synchronize();
  EXPECT_TRUE(written.is_reached());
  synchronize(side);
  EXPECT_EQ(back(z), Floats(4, 4.0f));
}

TEST_F(Streams, WithoutAnEventDoNotWaitForEachOther) {
  const Tensor x = full(Shape{4}, 1.0f, DType::float32, device_);
  synchronize(device_);
  Hold hold({device_, 0});
  const StreamGuard guard(new_stream(device_));
  const Tensor y = mul(x, x);
  synchronize(current_stream(device_));
  EXPECT_EQ(back(y), Floats(4, 1.0f));
}

TEST_F(Streams, EventThatWasNeverRecordedIsReached) {
  const Event event(device_);
  EXPECT_TRUE(event.is_reached());
  event.synchronize();
  event.wait({device_, 0});
  EXPECT_TRUE(Event().is_reached());
}

TEST_F(Streams, EventRefusesTheStreamOfAnotherDevice) {
  Event event(device_);
  EXPECT_EQ(error_of<ValueError>([&] {
              event.record({other_, 0});
            }),
            "event: needs a stream of " + name_ + ", got one of " + other_name_);
}

TEST_F(Streams, MemoryIsFreedInTheOrderOfItsStream) {
  const Tensor x = full(Shape{4}, 3.0f, DType::float32, device_);
  Hold hold({device_, 0});
  Tensor y;
  {
    const Tensor between = add(x, x);  // freed before the kernel that reads it has run
    y = mul(between, between);
  }
  hold.let_go();
  EXPECT_EQ(back(y), Floats(4, 36.0f));
}

TEST_F(Streams, RecordedStreamKeepsMemoryUntilItIsDone) {
  const Stream side = new_stream(device_);
  Tensor y;
  Hold hold(side);
  {
    const Tensor x = full(Shape{4}, 3.0f, DType::float32, device_);
    order_streams({device_, 0}, side);
    const StreamGuard guard(side);
    y = mul(x, x);
    record_stream(x, side);
  }  // x is freed on the default stream, which waits for the side stream
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  hold.let_go();
  synchronize(side);
  EXPECT_EQ(back(y), Floats(4, 9.0f));
}

TEST_F(Streams, OpsKeepTheMemoryOfTheirOperandsUntilTheyAreDone) {
  const Stream side = new_stream(device_);
  Tensor y, z;
  const Tensor out = full(Shape{4}, 0.0f, DType::float32, device_);
  synchronize(device_);
  Hold hold(side);
  {
    const Tensor x = full(Shape{4}, 3.0f, DType::float32, device_);
    const Tensor w = full(Shape{2, 2}, 1.0f, DType::float32, device_);
    order_streams({device_, 0}, side);
    const StreamGuard guard(side);
    y = mul(x, x);
    z = matmul(w, w);
    add_out(x, x, out);
  }  // both are freed on the default stream
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  hold.let_go();
  synchronize(side);
  EXPECT_EQ(back(y), Floats(4, 9.0f));
  EXPECT_EQ(back(z), Floats(4, 2.0f));
  EXPECT_EQ(back(out), Floats(4, 6.0f));
}

TEST_F(Streams, CopiesBetweenDevicesWaitForBoth) {
  const Tensor x = full(Shape{4}, 1.0f, DType::float32, device_);
  synchronize(device_);
  Hold hold({device_, 0});
  const Tensor sum = add(x, x);
  const Tensor far = to_device(sum, other_);
  const Tensor square = mul(far, far);
  EXPECT_FALSE(is_idle({other_, 0}));
  hold.let_go();
  EXPECT_EQ(back(square), Floats(4, 4.0f));
}

TEST_F(Streams, ModesTravelToAnotherThread) {
  const Stream side = new_stream(device_);
  const StreamGuard stream(side);
  const DeviceGuard guard(device_);
  const DeviceModes modes = device_modes();
  std::thread([&] {
    set_device_modes(modes);
    EXPECT_EQ(current_stream(device_), side);
    EXPECT_EQ(default_device(), device_);
  }).join();
}

}  // namespace
}  // namespace ebb
