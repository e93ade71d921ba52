// tests/autograd/engine/concurrency_test.cpp -- many threads with runs of their own, runs inside
// runs to any depth, and forks in between.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "tests/autograd/graph_support.h"
#include "tests/autograd/thread_stress.h"
#include "tests/sanitizers.h"

namespace ebb {
namespace {

constexpr int kThreads = 16;

TEST(Concurrency, RunsOnGraphsOfTheirOwnAreExact) { run_disjoint_graphs(kThreads, 100); }

TEST(Concurrency, RunsAddUpInASharedLeafExactly) { run_graphs_of_one_leaf(kThreads, 100); }

TEST(Concurrency, RunsShareNodesOfARetainedGraph) { run_shared_graph(kThreads, 20); }

TEST(Concurrency, RunsShareTheTrunkOfARetainedGraph) { run_shared_trunk(kThreads, 20); }

/// A run that ends in a leaf with a hook, while another thread drops the leaf: the hook gets the
/// leaf, whole, or is not called.
TEST(Concurrency, ALeafMayDieWhileARunHasAHookForIt) {
  constexpr int kRounds = 500;
  Tensor x;
  Tensor y;
  int wrong = 0;
  std::barrier<> round_begins(2);
  std::barrier<> round_ends(2);
  const auto one_round = [&](int thread) {
    if (thread == 0) {
      x = leaf({3});
      register_post_accumulate_grad_hook(x, [&](const Tensor& owner) {
        wrong += floats(owner) != Floats{3} || floats(grad_of(owner)) != Floats{2};
      });
      y = x * 2.0;
    }
    round_begins.arrive_and_wait();
    thread == 0 ? backward(y) : static_cast<void>(x = Tensor());
    round_ends.arrive_and_wait();
  };
  const int64_t before = memory_stats().live;
  on_threads(2, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) one_round(thread);
    if (thread == 0) y = Tensor();
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(memory_stats().live - before, kRounds);  // bytes: not one tensor a round
}

TEST(Concurrency, MoreRunsInsideEachOtherThanPlacesAreCountedExactly) {
  const Tensor x = leaf({1});
  const std::function<void(int)> nest = [&](int level) {
    backward(with_rule(x, [&, level](const Tensor& grad) {
      if (level > 0) nest(level - 1);
      return grad;
    }));
  };
  nest(400);
  EXPECT_EQ(floats(grad_of(x)), Floats{401});
}

int count_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

/// Whether there are no more threads than `count`; the system lists one for a moment after it was
/// joined.
bool falls_to(int count) {
  for (int look = 0; count_threads() > count; ++look) {
    if (look == 1000) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

/// A value whose backward runs `depth` further runs, each inside the one before.
Tensor nested(const Tensor& x, int depth) {
  Tensor value = x * 1.0;
  for (int level = 0; level < depth; ++level) {
    value = with_rule(x, [below = value, x](const Tensor& grad) {
      return grad + ebb::grad(std::span(&below, 1), std::span(&x, 1))[0];
    });
  }
  return value;
}

TEST(Nesting, GoesTenThousandLevelsDeepAndLeavesNoThreadBehind) {
  const int depth = kHasThreadSanitizer ? 1000 : 10'000;
  const Tensor x = leaf({1});
  std::thread([] {}).join();  // ThreadSanitizer starts one of its own with the first
  const int before = count_threads();
  backward(nested(x, depth));
  EXPECT_EQ(floats(grad_of(x)), Floats{static_cast<float>(depth + 1)});
  EXPECT_TRUE(falls_to(before)) << count_threads() << " threads, " << before << " before";
}

TEST(Nesting, PassesAnErrorUpThroughAllLevels) {
  const Tensor x = leaf({1});
  Tensor value = with_rule(x, [](const Tensor&) -> Tensor { throw std::out_of_range("deepest"); });
  for (int level = 0; level < 450; ++level) {
    value = with_rule(x, [below = value](const Tensor& grad) {
      backward(below);
      return grad;
    });
  }
  EXPECT_THROW(backward(value), std::out_of_range);
  EXPECT_FALSE(grad_of(x).defined());
  backward(nested(x, 250));  // the engine is usable
  EXPECT_EQ(floats(grad_of(x)), Floats{251});
}

TEST(Nesting, CarriesModesToHelperThreads) {
  const Tensor x = leaf({1});
  const bool was_parallel = is_parallel_backward();
  set_parallel_backward(false);
  int wrong = 0;
  Tensor value = x * 1.0;
  for (int level = 0; level < 250; ++level) {
    value = with_rule(x, [&wrong, below = value](const Tensor& grad) {
      wrong += is_grad_enabled() || is_parallel_backward();
      backward(below);
      return grad;
    });
  }
  backward(value);
  set_parallel_backward(was_parallel);
  EXPECT_EQ(wrong, 0);
}

/// The exit status of a child that runs `body`, which says whether all went well; -1 if it hangs.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

size_t address_space_in_use() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Nesting, SaysWhenThereAreNoMoreThreads) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer needs the address space";
  const Tensor x = leaf({1});
  const int status = status_of_child([&] {
    const Tensor deep = nested(x, 3000);
    struct rlimit limit = {};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space_in_use() + (size_t{64} << 20);  // stacks of a few threads
    setrlimit(RLIMIT_AS, &limit);
    const std::string text = error_of<AutogradError>([&] { backward(deep); });
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &limit);
    return text.find("backward: needs a thread to nest ") == 0;
  });
  EXPECT_EQ(status, 0);
}

bool backward_is_right() {
  const Tensor x = leaf({1});
  Tensor total = x;
  for (int branch = 0; branch < 8; ++branch) {
    Tensor value = x * 1.0;
    for (int step = 0; step < 40; ++step) value = value * 1.0;
    total = total + value;
  }
  backward(total);
  return floats(grad_of(x)) == Floats{9};
}

TEST(Forking, GivesTheChildAnEngineThatWorks) {
  // Clang 14's AddressSanitizer takes no part in fork(): a lock of its malloc that the busy thread
  // holds stays locked in the child. ThreadSanitizer allows no threads there at all.
  if (kHasSanitizer) GTEST_SKIP() << "a sanitizer's own malloc may be locked in the child";
  const int threads = num_threads();
  set_num_threads(2);
  set_eager_teams(true);
  ASSERT_TRUE(backward_is_right());
  std::atomic<bool> stops{false};
  std::thread busy([&] {
    while (!stops) static_cast<void>(backward_is_right());
  });
  int failed = 0;
  for (int attempt = 0; attempt < 50; ++attempt) failed += status_of_child(backward_is_right) != 0;
  stops = true;
  busy.join();
  set_eager_teams(false);
  set_num_threads(threads);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace ebb
