// tests/autograd/hooks/hooks_test.cpp -- tensor, node and post-accumulate hooks: order, results,
// removal.
#include "ebb/autograd/hooks/hooks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/hooks/active_run.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using Events = std::vector<std::string>;

/// A hook that writes down that it was called, with the first number of the gradient.
auto noting(Events& events, std::string name) {
  return [&events, name](const Tensor& grad) {
    events.push_back(name + (grad.defined() ? "" : " none"));
    return Tensor();
  };
}

TEST(Hooks, OfATensorRunOnceOnTheSummedGradient) {
  const Tensor x = leaf({1});
  const Tensor h = x * 2;
  std::vector<Floats> seen;
  register_hook(h, [&](const Tensor& grad) {
    seen.push_back(floats(grad));
    return Tensor();
  });
  backward(h * 3 + h * 4);
  EXPECT_EQ(seen, std::vector<Floats>{Floats{7}});
  EXPECT_EQ(floats(grad_of(x)), Floats{14});
}

TEST(Hooks, ThatDoubleThreeTimesGiveEightTimesTheGradient) {
  const Tensor x = leaf({1});
  for (int count = 0; count < 3; ++count) {
    register_hook(x, [](const Tensor& grad) { return grad * 2; });
  }
  const Tensor seed = vector_of<float>({1});
  backward(x * 1, seed);
  EXPECT_EQ(floats(grad_of(x)), Floats{8});
  EXPECT_EQ(floats(seed), Floats{1});
}

TEST(Hooks, RunInTheirOrderAroundANode) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  Events events;
  autograd::Node& node = *autograd::grad_fn(y);
  register_node_hook(
      node, [&](std::span<Tensor>, std::span<const Tensor>) { events.emplace_back("post"); });
  register_node_prehook(node, [&](std::span<Tensor>) { events.emplace_back("pre"); });
  register_hook(y, noting(events, "first"));
  register_hook(y, noting(events, "second"));
  register_hook(x, noting(events, "leaf"));
  register_post_accumulate_grad_hook(x, [&](const Tensor& leaf) {
    events.push_back(str("accumulated ", floats(grad_of(leaf))[0]));
  });
  backward(y);
  EXPECT_EQ(events, (Events{"first", "second", "pre", "post", "leaf", "accumulated 2"}));
}

TEST(Hooks, ARetainedGradientSeesAllTensorHooksButNoPrehook) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  retain_grad(y);
  register_hook(y, [](const Tensor& grad) { return grad * 10; });
  register_node_prehook(*autograd::grad_fn(y),
                        [](std::span<Tensor> grads) { grads[0] = grads[0] * 5; });
  backward(y, {}, {.retain_graph = true});
  EXPECT_EQ(floats(grad_of(y)), Floats{10});
  EXPECT_EQ(floats(grad_of(x)), Floats{100});
  backward(y);
  EXPECT_EQ(floats(grad_of(y)), Floats{20});  // accumulates like a leaf's
}

TEST(Hooks, ANodeHookSeesCheckedGradientsAndMayReplaceThem) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * tensor_of<float>({3}, {});
  register_node_hook(*autograd::grad_fn(y),
                     [](std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outs) {
                       EXPECT_EQ(floats(grad_outs[0]), (Floats{1, 1}));
                       EXPECT_EQ(floats(grad_inputs[0]), (Floats{3, 3}));
                       grad_inputs[0] = grad_inputs[0] * 2;
                     });
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{6, 6}));
}

TEST(Hooks, SeeReducedGradientsAfterTheNode) {
  const Tensor x = leaf({1});
  const Tensor y = with_rule(x, [](const Tensor&) { return vector_of<float>({1, 2, 3}); });
  // A gradient of shape [3] for an input of shape [1] is summed down before the node's hooks.
  Floats seen;
  register_node_hook(*autograd::grad_fn(y),
                     [&](std::span<Tensor> grad_inputs, std::span<const Tensor>) {
                       seen = floats(grad_inputs[0]);
                     });
  backward(y);
  EXPECT_EQ(seen, Floats{6});
}

TEST(Hooks, OfATensorFireWhenGradOnlyCollectsIt) {
  const Tensor x = leaf({1});
  const Tensor h = x * 2;
  Events events;
  register_hook(h, [&](const Tensor& grad) {
    events.emplace_back("h");
    return grad * 10;
  });
  register_node_prehook(*autograd::grad_fn(h),
                        [&](std::span<Tensor>) { events.emplace_back("pre"); });
  const std::vector<Tensor> grads = grad({{h * 3}}, {{h}});
  EXPECT_EQ(floats(grads[0]), Floats{30});
  EXPECT_EQ(events, Events{"h"});  // the node itself does not run
}

TEST(Hooks, RemoveTellsWhetherTheHookWasThere) {
  const Tensor x = leaf({1});
  Events events;
  HookHandle first = register_hook(x, noting(events, "first"));
  HookHandle second = register_hook(x, noting(events, "second"));
  EXPECT_TRUE(first.remove());
  EXPECT_FALSE(first.remove());
  HookHandle third = register_hook(x, noting(events, "third"));
  EXPECT_LT(second.id(), third.id());
  EXPECT_NE(first.id(), third.id());
  backward(x * 1);
  EXPECT_EQ(events, (Events{"second", "third"}));
}

TEST(Hooks, SeeNoneWhereNoGradientCame) {
  const Tensor x = leaf({1});
  const Tensor h = x * 2;
  Events events;
  register_hook(h, noting(events, "h"));
  register_hook(x, noting(events, "x"));
  register_post_accumulate_grad_hook(x, [&](const Tensor&) { events.emplace_back("accumulated"); });
  backward(with_rule(h, [](const Tensor&) { return Tensor(); }));
  EXPECT_EQ(events, (Events{"h none", "x none"}));
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Hooks, MayRemoveAndAddHooksWhileTheyRun) {
  const Tensor x = leaf({1});
  Events events;
  HookHandle handle;
  handle = register_hook(x, [&](const Tensor&) {
    events.emplace_back("once");
    EXPECT_TRUE(handle.remove());
    register_hook(x, noting(events, "later"));
    return Tensor();
  });
  backward(x * 1);
  EXPECT_EQ(events, Events{"once"});
  backward(x * 1);
  EXPECT_EQ(events, (Events{"once", "later"}));
}

TEST(Hooks, MayRunOtherGraphsAndTheSameOne) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  const Tensor z = y * 3;
  register_hook(z, [&](const Tensor&) {
    const Tensor inner = grad({{y}}, {{x}}, {}, {.retain_graph = true})[0];
    return inner;
  });
  backward(z);
  EXPECT_EQ(floats(grad_of(x)), Floats{48});  // dy/dx = 4 in place of the seed, times 3 * 4
}

TEST(Hooks, RunInTheGradModeOfTheRunAndCannotChangeIt) {
  const Tensor x = leaf({1});
  std::vector<bool> modes;
  register_hook(x, [&](const Tensor&) {
    modes.push_back(is_grad_enabled());
    set_grad_enabled(!is_grad_enabled());
    return Tensor();
  });
  register_hook(x, [&](const Tensor&) {
    modes.push_back(is_grad_enabled());
    return Tensor();
  });
  backward(x * 1);
  backward(x * 1, {}, {.create_graph = true});
  EXPECT_EQ(modes, (std::vector{false, false, true, true}));
  EXPECT_TRUE(is_grad_enabled());
}

TEST(Hooks, AreDifferentiatedThroughUnderCreateGraph) {
  const Tensor x = leaf({3});
  register_hook(x, [&](const Tensor& grad) { return grad * x; });
  const Tensor first = grad({{x * x}}, {{x}}, {}, {.create_graph = true})[0];  // 2x * x
  EXPECT_EQ(floats(first), Floats{18});
}

TEST(Hooks, StayWithTheOldValueAfterAnInPlaceWrite) {
  const Tensor x = leaf({1});
  const Tensor h = x * 2;
  Floats seen;
  register_hook(h, [&](const Tensor& grad) {
    seen = floats(grad);
    return Tensor();
  });
  mul_(h, 5);
  backward(h);
  EXPECT_EQ(seen, Floats{5});  // of h before the write
}

TEST(Hooks, OfALeafFireAlsoWhenTheLeafIsGone) {
  Events events;
  Tensor out;
  {
    const Tensor x = leaf({1});
    register_hook(x, noting(events, "x"));
    register_post_accumulate_grad_hook(x,
                                       [&](const Tensor&) { events.emplace_back("accumulated"); });
    out = x * 1;
  }
  backward(out);
  EXPECT_EQ(events, Events{"x"});
}

TEST(Hooks, PostAccumulateHooksMayDropTheGradient) {
  const Tensor x = leaf({1});
  register_post_accumulate_grad_hook(x, [](const Tensor& leaf) { set_grad(leaf, {}); });
  backward(x * 2);
  EXPECT_FALSE(grad_of(x).defined());
}

TEST(Hooks, OfAnAccumulatorSeeTheNewGradient) {
  const Tensor x = leaf({1});
  Floats seen;
  register_node_hook(*autograd::gradient_edge(x).node,
                     [&](std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outs) {
                       EXPECT_TRUE(grad_inputs.empty());
                       EXPECT_EQ(floats(grad_outs[0]), Floats{2});
                       seen = floats(grad_of(x));
                     });
  backward(x * 2);
  EXPECT_EQ(seen, Floats{2});
}

TEST(Hooks, KeepNothingAliveAfterTheirNode) {
  const auto token = std::make_shared<int>(0);
  HookHandle handle;
  {
    const Tensor x = leaf({1});
    const Tensor y = x * 2;
    handle = register_hook(y, [token](const Tensor&) { return Tensor(); });
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_FALSE(handle.remove());
}

TEST(Hooks, RefuseTensorsThatHaveNoPlaceInTheGraph) {
  const auto hook = [](const Tensor&) { return Tensor(); };
  std::string text = error_of<AutogradError>([&] { register_hook(vector_of<float>({1}), hook); });
  EXPECT_NE(text.find("register_hook: needs a tensor that requires a gradient"), text.npos) << text;
  const Tensor y = leaf({1}) * 2;
  text =
      error_of<AutogradError>([&] { register_post_accumulate_grad_hook(y, [](const Tensor&) {}); });
  EXPECT_NE(text.find("needs a leaf, got a tensor made by Mul"), text.npos) << text;
  error_of<ValueError>([&] { register_hook(Tensor(), hook); });
  error_of<ValueError>([&] { register_hook(y, nullptr); });
}

TEST(Hooks, MayWriteToAGradientOnlyIfNobodyElseHoldsIt) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  register_hook(x, [](const Tensor& grad) { return mul_(grad, 10), Tensor(); });
  backward(y, {}, {.retain_graph = true});
  EXPECT_EQ(floats(grad_of(x)), Floats{20});
  register_hook(y, [](const Tensor& grad) { return mul_(grad, 10), Tensor(); });
  const std::string text = error_of<AutogradError>([&] { backward(y, vector_of<float>({1})); });
  EXPECT_NE(text.find("tensor hook 'hook': must leave the gradient it is given"), text.npos)
      << text;
  EXPECT_EQ(floats(grad_of(x)), Floats{20});
}

TEST(Hooks, ThatReturnAnotherShapeOrTypeAreNamed) {
  const Tensor x = leaf({1});
  HookHandle handle = register_hook(x, [](const Tensor&) { return vector_of<float>({1, 2}); });
  std::string text = error_of<ShapeError>([&] { backward(x * 1); });
  EXPECT_NE(text.find("tensor hook 'hook': must return a gradient of float32 [1], got float32 [2]"),
            text.npos)
      << text;
  handle.remove();
  register_hook(x, [](const Tensor& grad) { return cast(grad, DType::float64); });
  text = error_of<DTypeError>([&] { backward(x * 1); });
  EXPECT_NE(text.find("got float64 [1]"), text.npos) << text;
}

}  // namespace
}  // namespace ebb
