// tests/autograd/engine/nested_test.cpp -- runs inside runs, and runs on several threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "ebb/autograd/ops/exp.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

TEST(Nested, RunsAnotherGraphInsideANode) {
  const Tensor inner = leaf({2});
  const Tensor x = leaf({1});
  backward(with_rule(x, [&](const Tensor& grad) {
    const EnableGradGuard guard;
    backward(inner * inner);
    return grad * 10;
  }));
  EXPECT_EQ(floats(grad_of(inner)), Floats{4});
  EXPECT_EQ(floats(grad_of(x)), Floats{10});
}

TEST(Nested, RunsTheSameGraphInsideItself) {
  const Tensor x = leaf({3});
  const Tensor square = x * x;
  const Tensor out = with_rule(square, [&](const Tensor& grad) {
    const Tensor inner = grad * 0 + ebb::grad(std::span(&square, 1), std::span(&x, 1), {},
                                              {.retain_graph = true})[0];
    return inner;
  });
  backward(out);
  EXPECT_EQ(floats(grad_of(x)), Floats{36});  // the inner gradient 6, times 2x
}

TEST(Nested, GoesAHundredLevelsDeep) {
  const Tensor x = leaf({1});
  Tensor value = x * 1.0;
  for (int level = 0; level < 100; ++level) {
    const Tensor below = value;
    value = with_rule(x, [below, x](const Tensor& grad) {
      return grad + ebb::grad(std::span(&below, 1), std::span(&x, 1))[0];
    });
  }
  backward(value);
  EXPECT_EQ(floats(grad_of(x)), Floats{101});
}

TEST(Threads, RunDisjointGraphsAtOnce) {
  std::atomic<int> wrong{0};
  on_threads(8, [&](int) {
    for (int round = 0; round < 200; ++round) {
      const Tensor x = leaf({3});
      backward(x * x * x);
      wrong += floats(grad_of(x)) != Floats{27};
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, LoseNoGradientOfASharedLeaf) {
  const Tensor x = leaf({1});
  on_threads(8, [&](int) {
    for (int round = 0; round < 200; ++round) backward(x * 2);
  });
  EXPECT_EQ(floats(grad_of(x)), Floats{3200});
}

TEST(Threads, ShareARetainedGraph) {
  const Tensor x = leaf({2});
  const Tensor out = exp(x * 0) * x * x;
  on_threads(8, [&](int) {
    for (int round = 0; round < 50; ++round) backward(out, {}, {.retain_graph = true});
  });
  EXPECT_EQ(floats(grad_of(x)), Floats{1600});  // 8 * 50 * 2x
}

TEST(Threads, LetExactlyOneRunUseASharedGraphThatIsNotRetained) {
  for (int round = 0; round < 100; ++round) {
    const Tensor x = leaf({2});
    const Tensor out = x * x;
    std::atomic<int> successes{0};
    std::atomic<int> refusals{0};
    on_threads(4, [&](int) {
      try {
        backward(out);
        ++successes;
      } catch (const AutogradError&) {
        ++refusals;
      }
    });
    ASSERT_EQ(successes, 1);
    ASSERT_EQ(refusals, 3);
    ASSERT_EQ(floats(grad_of(x)), Floats{4});
  }
}

TEST(Threads, RecordOnASharedLeaf) {
  const Tensor x = leaf({2});
  on_threads(8, [&](int) {
    for (int round = 0; round < 200; ++round) static_cast<void>(x * x);
  });
  backward(x * x);
  EXPECT_EQ(floats(grad_of(x)), Floats{4});
}

TEST(Threads, DropALeafWhileItsGraphRuns) {
  for (int round = 0; round < 200; ++round) {
    Tensor x = leaf({2});
    const Tensor out = x * 3;
    std::thread dropper([&] { x = Tensor(); });
    backward(out);
    dropper.join();
  }
}

}  // namespace
}  // namespace ebb
