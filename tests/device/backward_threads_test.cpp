// tests/device/backward_threads_test.cpp -- whose thread runs a node: the worker of its device, or
// the caller's; errors, warnings, nested runs and forks there.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/zeros.h"
#include "tests/device/backward_support.h"
#include "tests/sanitizers.h"

namespace ebb {
namespace {

using DeviceThreads = OnDevices;

TEST_F(DeviceThreads, EachDeviceHasOneAndTheCpuTheCallers) {
  Seen here, there, far;
  for (int round = 0; round < 2; ++round) {
    const Tensor x = leaf({1, 2});
    const Tensor on_cpu = watched(x * 2, here);
    const Tensor on_first = watched(to_device(on_cpu, device_), there);
    const Tensor on_second = watched(to_device(on_first, other_), far);
    const std::thread::id before = there.thread;
    backward(sum(on_second));
    EXPECT_EQ(floats(grad_of(x)), Floats(2, 2));
    if (round == 1) {
      EXPECT_EQ(there.thread, before);  // a worker stays
    }
  }
  EXPECT_EQ(here.thread, std::this_thread::get_id());
  EXPECT_EQ((std::set{here.thread, there.thread, far.thread}).size(), 3u);
}

TEST_F(DeviceThreads, AreTheSameForAllCallers) {
  Seen first, second;
  const auto run = [&](Seen& seen) { backward(sum(watched(leaf_on(device_, {1}) * 1, seen))); };
  run(first);
  std::thread([&] { run(second); }).join();
  EXPECT_EQ(first.thread, second.thread);
}

TEST_F(DeviceThreads, HaveTheModesOfTheCaller) {
  Seen seen;
  const Tensor x = leaf_on(device_, {1});
  backward(sum(watched(x * 1, seen)));
  EXPECT_FALSE(seen.records);
  DeviceModes modes;
  const DeviceGuard guard(other_);
  backward(sum(with_rule(x * 1, [&](const Tensor& grad) {
    modes = device_modes();
    return grad;
  })));
  EXPECT_EQ(modes.default_device, other_);
}

TEST_F(DeviceThreads, DoNotRunWhereThreadsAreOffOrBackwardIsRecorded) {
  Seen seen;
  const Tensor x = leaf_on(device_, {3});
  {
    const ParallelScope off(false);
    backward(sum(watched(x * x, seen)));
    EXPECT_EQ(seen.thread, std::this_thread::get_id());
  }
  const Tensor y = watched(x * x, seen);
  const Tensor roots[] = {sum(y)}, inputs[] = {x};
  grad(roots, inputs, {}, {.create_graph = true});
  EXPECT_EQ(seen.thread, std::this_thread::get_id());
  EXPECT_TRUE(seen.records);
}

TEST_F(DeviceThreads, LeaveNodesWithHooksToTheCaller) {
  Seen seen;
  const Tensor x = leaf_on(device_, {3});
  const Tensor y = watched(x * x, seen);
  std::thread::id hook_thread;
  register_hook(y, [&](const Tensor&) {
    hook_thread = std::this_thread::get_id();
    return Tensor();
  });
  std::thread::id leaf_thread;
  register_post_accumulate_grad_hook(
      x, [&](const Tensor&) { leaf_thread = std::this_thread::get_id(); });
  backward(sum(y * 1));
  EXPECT_EQ(hook_thread, std::this_thread::get_id());
  EXPECT_EQ(leaf_thread, std::this_thread::get_id());
  EXPECT_EQ(seen.thread, std::this_thread::get_id());
}

TEST_F(DeviceThreads, AreNotUsedByGraphsOfTheCpu) {
  const uint64_t before = backward_threads().device_nodes;
  const Tensor x = leaf({1, 2});
  backward(sum(x * x));
  EXPECT_EQ(backward_threads().device_nodes, before);
  EXPECT_EQ(floats(grad_of(x)), (Floats{2, 4}));
}

TEST_F(DeviceThreads, TellTheCallerWhatWasThrown) {
  const Tensor x = leaf_on(device_, {1}), y = leaf({1});
  const Tensor bad =
      with_rule(x * 2, [](const Tensor&) -> Tensor { throw DTypeError("the rule is wrong"); });
  const Tensor total = sum(to_device(bad, {}) + y * 1);
  const std::string text = error_of<DTypeError>([&] { backward(total); });
  EXPECT_EQ(text.find("the rule is wrong\n  in RuleBackward, recorded at "), 0u) << text;
  EXPECT_FALSE(grad_of(x).defined());
  EXPECT_FALSE(grad_of(y).defined());
  backward(sum(x * 2));  // nothing is left behind
  EXPECT_EQ(back(grad_of(x)), Floats{2});
}

TEST_F(DeviceThreads, ThatFailStopTheOthers) {
  std::atomic<int> ran{0};
  std::atomic<bool> has_failed{false};
  const Tensor x = leaf({1});
  Tensor far = to_device(x, other_), near = to_device(x, device_);
  for (int step = 0; step < 50; ++step) {
    far = with_rule(far, [&](const Tensor& grad) {
      while (!has_failed) std::this_thread::yield();  // however late its thread starts
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++ran;
      return grad;
    });
  }
  near = with_rule(near, [&](const Tensor&) -> Tensor {
    has_failed = true;
    throw ValueError("stop");
  });
  const Tensor roots[] = {far, near};
  const Tensor seeds[] = {ones(Shape{1}, DType::float32, other_),
                          ones(Shape{1}, DType::float32, device_)};
  EXPECT_EQ(error_of<ValueError>([&] { backward(roots, seeds); }).find("stop"), 0u);
  EXPECT_LT(ran, 50);
  EXPECT_FALSE(grad_of(x).defined());
}

TEST_F(DeviceThreads, RunBackwardInsideBackward) {
  const Tensor inner = leaf_on(device_, {3});
  Seen seen;
  std::thread::id outer;
  const Tensor x = leaf_on(device_, {1});
  backward(sum(with_rule(x * 1, [&](const Tensor& grad) {
    outer = std::this_thread::get_id();
    const EnableGradGuard records;
    backward(sum(to_device(watched(to_device(inner * inner, other_), seen), Device{})));
    return grad;
  })));
  EXPECT_EQ(back(grad_of(inner)), Floats{6});
  EXPECT_EQ(back(grad_of(x)), Floats{1});
  EXPECT_NE(outer, std::this_thread::get_id());
  EXPECT_EQ(seen.thread, outer);  // or two workers might wait for each other
}

TEST_F(DeviceThreads, NestDeeply) {
  const Tensor inner = leaf_on(device_, {1});
  std::function<void(int)> nest = [&](int depth) {
    const EnableGradGuard records;
    backward(sum(with_rule(inner * 1, [&, depth](const Tensor& grad) {
      if (depth > 0) nest(depth - 1);
      return grad;
    })));
  };
  nest(250);
  EXPECT_EQ(back(grad_of(inner)), Floats{251});
}

TEST_F(DeviceThreads, ServeManyCallersAtOnce) {
  const Tensor shared = leaf_on(other_, {1, 1});
  on_threads(6, [&](int) {
    for (int round = 0; round < 20; ++round) {
      const Tensor x = leaf({1, 2});
      const Tensor there = to_device(x, device_) * 3;
      backward(sum(to_device(there, other_) * shared * 2));
      EXPECT_EQ(floats(grad_of(x)), Floats(2, 6));
    }
  });
  synchronize(other_);
  EXPECT_EQ(back(grad_of(shared)), (Floats{720, 1440}));  // 120 times 6 x
}

TEST_F(DeviceThreads, AddUpInTheOrderOfOneThread) {
  const auto gradient = [&](bool is_parallel) {
    const ParallelScope scope(is_parallel);
    const Tensor x = requires_grad_(to_device(mul(count_up({64}), 0.37), device_));
    Tensor total = zeros(Shape{64}, DType::float32, Device{});
    for (int branch = 0; branch < 12; ++branch) {
      const Device device = branch % 3 == 0 ? device_ : branch % 3 == 1 ? other_ : Device{};
      const Tensor there = to_device(x * (1.0 / (branch + 1)), device);
      total = total + to_device(tanh(there * there), Device{});
    }
    backward(sum(total));
    return back(grad_of(x));
  };
  const Floats expected = gradient(false);
  for (int round = 0; round < 10; ++round) EXPECT_EQ(gradient(true), expected);
}

TEST_F(DeviceThreads, GoOnAloneWhenTooMuchWaits) {
  const int64_t count = int64_t{6} << 20;  // 24 MB each
  const Tensor x = requires_grad_(ones(Shape{count}, DType::float32, device_));
  const Tensor start = x * 1;
  std::vector<Tensor> roots;
  for (int branch = 0; branch < 5; ++branch) roots.push_back(to_device(start, other_));
  const std::vector<Tensor> seeds(5, ones(Shape{count}, DType::float32, other_));
  // The first root is the last to send: what the others send waits for nobody knows what.
  const Tensor late = with_rule(start, [](const Tensor& grad) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return grad;
  });
  roots.push_back(late);
  std::vector<Tensor> all_seeds = seeds;
  all_seeds.push_back(ones(Shape{count}, DType::float32, device_));
  backward(roots, all_seeds);
  EXPECT_EQ(select(to_device(grad_of(x), {}), 0, count - 1).item<float>(), 6.0f);
}

std::vector<std::pair<std::string, std::thread::id>>& warned() {
  static std::vector<std::pair<std::string, std::thread::id>> all;
  return all;
}

TEST_F(DeviceThreads, LeaveTheirWarningsToTheCaller) {
  const Tensor x = leaf_on(device_, {0});
  const Tensor y = with_rule(x * 1, [](const Tensor& grad) {
    warn("it gets warm");
    return grad;
  });
  warned().clear();
  set_warning_sink(
      [](const std::string& text) { warned().emplace_back(text, std::this_thread::get_id()); });
  backward(sum(y));
  set_warning_sink(nullptr);
  const std::pair expected("it gets warm", std::this_thread::get_id());
  ASSERT_EQ(warned().size(), 1u);
  EXPECT_EQ(warned()[0].first, expected.first);
  EXPECT_EQ(warned()[0].second, expected.second);
}

TEST_F(DeviceThreads, FailWhereAWarningIsAnError) {
  const Tensor x = leaf_on(device_, {0});
  const Tensor y = with_rule(x * 1, [](const Tensor& grad) {
    warn("it gets hot");
    return grad;
  });
  set_warning_sink([](const std::string& text) { throw ValueError(text); });
  EXPECT_EQ(error_of<ValueError>([&] { backward(sum(y)); }), "it gets hot");
  set_warning_sink(nullptr);
  EXPECT_FALSE(grad_of(x).defined());
}

TEST_F(DeviceThreads, AreStartedAnewInAForkedChild) {
  if (kHasThreadSanitizer) {
    GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a process with threads";
  }
  const auto works = [&] {
    Seen seen;
    const Tensor x = leaf_on(device_, {1, 2});
    backward(sum(watched(x * x, seen)));
    return back(grad_of(x)) == Floats{2, 4} && seen.thread != std::this_thread::get_id();
  };
  ASSERT_TRUE(works());
  synchronize(device_);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs is killed
    _exit(works() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(works());
}

}  // namespace
}  // namespace ebb
