// tests/autograd/hooks/hook_failure_test.cpp -- hooks of every kind that throw: what is left
// behind.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ebb/autograd/hooks/active_run.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/hooks/multi_grad_hook.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// x (no gradient), y (has one) and out = x * y * 3, recorded so that y's leaf comes first.
struct Program {
  Tensor x = leaf({2});
  Tensor y = leaf({5});
  Tensor middle = x * 3;
  Tensor out = middle * y;
};

struct FailingHook {
  const char* kind;
  std::function<HookHandle(const Program&, const std::function<void()>& fail)> add;
};

std::vector<FailingHook> failing_hooks() {
  return {
      {"tensor hook",
       [](const Program& p, const auto& fail) {
         return register_hook(p.middle, [=](const Tensor&) { return fail(), Tensor(); });
       }},
      {"tensor hook",
       [](const Program& p, const auto& fail) {
         return register_hook(p.x, [=](const Tensor&) { return fail(), Tensor(); });
       }},
      {"node pre-hook",
       [](const Program& p, const auto& fail) {
         return register_node_prehook(*autograd::grad_fn(p.middle),
                                      [=](std::span<Tensor>) { fail(); });
       }},
      {"node hook",
       [](const Program& p, const auto& fail) {
         return register_node_hook(*autograd::grad_fn(p.middle),
                                   [=](std::span<Tensor>, std::span<const Tensor>) { fail(); });
       }},
      {"tensor hook",
       [](const Program& p, const auto& fail) {
         const Tensor both[] = {p.middle, p.y};
         return register_multi_grad_hook(both, [=](std::span<const Tensor>) { fail(); })
             .handles()[0];
       }},
  };
}

TEST(HookFailure, OfEveryKindLeavesNothingBehindAndCanBeRetried) {
  for (const FailingHook& row : failing_hooks()) {
    const Program program;
    bool fails = true;
    row.add(program, [&] {
      if (fails) throw ValueError("thrown by the test");
    });
    const std::string text =
        error_of<ValueError>([&] { backward(program.out, {}, {.retain_graph = true}); });
    EXPECT_EQ(text.find("thrown by the test"), 0u);
    EXPECT_NE(text.find(str("in ", row.kind, " 'hook' of ")), text.npos) << text;
    EXPECT_FALSE(grad_of(program.x).defined()) << row.kind;
    EXPECT_FALSE(grad_of(program.y).defined()) << row.kind;
    fails = false;
    backward(program.out);
    EXPECT_EQ(floats(grad_of(program.x)), Floats{15}) << row.kind;
    EXPECT_EQ(floats(grad_of(program.y)), Floats{6}) << row.kind;
  }
}

TEST(HookFailure, AfterAccumulationTakesTheGradientBack) {
  const Program program;
  register_post_accumulate_grad_hook(program.x, [](const Tensor&) { throw ValueError("late"); });
  const std::string text = error_of<ValueError>([&] { backward(program.out); });
  EXPECT_NE(text.find("post-accumulate hook 'hook' of AccumulateGrad"), text.npos) << text;
  EXPECT_EQ(text.find("already added"), text.npos) << text;
  EXPECT_FALSE(grad_of(program.x).defined());
  EXPECT_FALSE(grad_of(program.y).defined());
}

TEST(HookFailure, NamesALeafWhoseGradientTheHookTookAway) {
  const Program program;
  register_post_accumulate_grad_hook(program.x, [](const Tensor& leaf) {
    set_grad(leaf, {});
    throw ValueError("late");
  });
  const std::string text = error_of<ValueError>([&] { backward(program.out); });
  EXPECT_NE(text.find("gradients were already added to 1 leaf (float32 [1]): a retry"), text.npos)
      << text;
}

TEST(HookFailure, OnAnAccumulatorTakesTheGradientBack) {
  const Program program;
  register_node_hook(*autograd::gradient_edge(program.x).node,
                     [](std::span<Tensor>, std::span<const Tensor>) { throw ValueError("late"); });
  EXPECT_EQ(error_of<ValueError>([&] { backward(program.out); }).find("already added"),
            std::string::npos);
  EXPECT_FALSE(grad_of(program.x).defined());
}

TEST(HookFailure, AddsToNoLeafUnlessGradientsAreAddedAsTheyCome) {
  const Program program;
  backward(program.out, {}, {.retain_graph = true});  // both leaves have gradients now
  HookHandle handle =
      register_hook(program.x, [](const Tensor&) -> Tensor { throw ValueError("late"); });
  const auto fail = [&] {
    return error_of<ValueError>([&] { backward(program.out, {}, {.retain_graph = true}); });
  };
  EXPECT_EQ(fail().find("already added"), std::string::npos);
  EXPECT_EQ(floats(grad_of(program.y)), Floats{6});
  {
    const AtomicAccumulation scope(false);
    EXPECT_NE(fail().find("already added to 1 leaf"), std::string::npos);
    EXPECT_EQ(floats(grad_of(program.y)), Floats{12});
  }
  EXPECT_TRUE(is_accumulation_atomic());
  handle.remove();
  backward(program.out);
  EXPECT_EQ(floats(grad_of(program.y)), Floats{18});
}

TEST(HookFailure, OfACallbackReachesTheCallerAfterTheGradientsWereAdded) {
  const Program program;
  register_hook(program.x, [](const Tensor&) {
    autograd::queue_callback([] { throw ValueError("at the end"); });
    return Tensor();
  });
  EXPECT_EQ(error_of<ValueError>([&] { backward(program.out); }), "at the end");
  EXPECT_EQ(floats(grad_of(program.x)), Floats{15});
  EXPECT_EQ(autograd::active_run(), nullptr);
}

TEST(HookFailure, DropsTheCallbacksOfTheRun) {
  const Program program;
  bool was_called = false;
  register_hook(program.x, [&](const Tensor&) -> Tensor {
    autograd::queue_callback([&] { was_called = true; });
    throw ValueError("before the end");
  });
  EXPECT_THROW(backward(program.out), ValueError);
  backward(leaf({1}) * 2);
  EXPECT_FALSE(was_called);
}

}  // namespace
}  // namespace ebb
