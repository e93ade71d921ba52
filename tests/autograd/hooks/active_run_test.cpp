// tests/autograd/hooks/active_run_test.cpp -- what a hook can ask the run it is in, and callbacks.
#include "ebb/autograd/hooks/active_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/tanh.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::active_run;
using Names = std::vector<std::string>;

Names names_of(const std::vector<autograd::NodePtr<autograd::Node>>& nodes) {
  Names names;
  for (const auto& node : nodes) names.emplace_back(node->name());
  return names;
}

TEST(ActiveRun, IsThereInsideARunOnlyAndNestedRunsHaveTheirOwn) {
  const Tensor x = leaf({1});
  EXPECT_EQ(active_run(), nullptr);
  std::vector<uint64_t> ids;
  const Tensor out = with_rule(x, [&](const Tensor& grad) {
    ids.push_back(active_run()->id());
    backward(with_rule(leaf({1}), [&](const Tensor& inner) {
      ids.push_back(active_run()->id());
      return inner;
    }));
    ids.push_back(active_run()->id());
    return grad;
  });
  backward(out);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(active_run(), nullptr);
}

TEST(ActiveRun, KnowsTheCurrentNode) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  Names names;
  const auto note = [&](const Tensor&) {
    names.emplace_back(active_run()->current_node()->name());
    return Tensor();
  };
  register_hook(y, note);
  register_hook(x, note);
  backward(y);
  EXPECT_EQ(names, (Names{autograd::grad_fn(y)->name(), "AccumulateGrad"}));
}

TEST(ActiveRun, TellsTheOrderInWhichItRunsTheNodes) {
  const Tensor x = leaf({1}), w = leaf({2});
  const Tensor h = x * w;
  const Tensor out = tanh(h) + exp(h * w);
  std::vector<autograd::NodePtr<autograd::Node>> nodes;
  register_hook(out, [&](const Tensor&) {
    nodes = active_run()->execution_order();
    return Tensor();
  });
  backward(out, {}, {.retain_graph = true});
  Names ran;
  for (const auto& node : nodes) {
    register_node_prehook(*node, [&ran, name = node->name()](auto) { ran.emplace_back(name); });
  }
  backward(out);
  EXPECT_EQ(ran, names_of(nodes));
  EXPECT_EQ(ran.size(), 7u);  // add, exp, mul, tanh, mul and two accumulators
}

/// The order that a hook of `watched` is told, in a run from both roots.
Names order_told(const Tensor& watched, const Tensor& first, const Tensor& second,
                 const std::vector<Tensor>& inputs) {
  Names order;
  register_hook(watched, [&](const Tensor&) {
    order = names_of(active_run()->execution_order());
    return Tensor();
  });
  const Tensor roots[] = {first, second};
  if (inputs.empty()) {
    backward(roots);
  } else {
    grad(roots, inputs);
  }
  return order;
}

TEST(ActiveRun, OfARootBehindAnotherTellsOnce) {
  const Tensor x = leaf({1});
  const Tensor y = x * vector_of<float>({2});  // an edge of it leads nowhere
  const Tensor z = exp(y);
  const Names order = order_told(z, y, z, {});
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0], autograd::grad_fn(z)->name());
  EXPECT_EQ(order[1], autograd::grad_fn(y)->name());
  EXPECT_EQ(order[2], "AccumulateGrad");
}

TEST(ActiveRun, TellsNothingOfARootThatLeadsToNoInput) {
  const Tensor x = leaf({1}), beside = leaf({2});
  const Tensor y = exp(x);
  EXPECT_EQ(order_told(y, y, tanh(beside), {x}), Names{autograd::grad_fn(y)->name()});
}

TEST(ActiveRun, TellsWhichNodesItExecutes) {
  const Tensor x = leaf({1}), y = leaf({2});
  const Tensor h = x * 2;
  const Tensor side = y * 3;
  const Tensor out = h * side;
  std::vector<bool> answers;
  register_hook(out, [&](const Tensor&) {
    for (const Tensor& tensor : {out, h, side, x, y}) {
      answers.push_back(active_run()->will_execute(*autograd::gradient_edge(tensor).node));
    }
    return Tensor();
  });
  grad({{out}}, {{x}}, {}, {.retain_graph = true});
  EXPECT_EQ(answers, (std::vector{true, true, false, false, false}));
  answers.clear();
  backward(out);
  EXPECT_EQ(answers, (std::vector{true, true, true, true, true}));
}

TEST(ActiveRun, CallsCallbacksOnceAfterAllGradients) {
  const Tensor x = leaf({3});
  Names events;
  HookHandle handle = register_hook(x, [&](const Tensor&) {
    autograd::queue_callback([&] {
      events.push_back(str("first sees ", floats(grad_of(x))[0]));
      autograd::queue_callback([&] { events.emplace_back("queued by the first"); });
    });
    autograd::queue_callback([&] { events.emplace_back("second"); });
    return Tensor();
  });
  backward(x * x);
  EXPECT_EQ(events, (Names{"first sees 6", "second", "queued by the first"}));
  handle.remove();
  backward(x * x);
  EXPECT_EQ(events.size(), 3u);
}

TEST(ActiveRun, CallsCallbacksAfterTheGradientsOfBackwardInputs) {
  const Tensor x = leaf({3});
  const Tensor h = x * 2;
  Floats seen;
  register_hook(h, [&](const Tensor&) {
    autograd::queue_callback([&] { seen = floats(grad_of(h)); });
    return Tensor();
  });
  backward(h * h, {}, {.inputs = {&h, 1}});
  EXPECT_EQ(seen, Floats{12});
}

TEST(ActiveRun, CallsTheCallbacksOfANestedRunAtItsEnd) {
  Names events;
  const Tensor x = leaf({1});
  backward(with_rule(x, [&](const Tensor& grad) {
    autograd::queue_callback([&] { events.emplace_back("outer"); });
    backward(with_rule(leaf({1}), [&](const Tensor& inner) {
      autograd::queue_callback([&] { events.emplace_back("inner"); });
      return inner;
    }));
    events.emplace_back("after the nested run");
    return grad;
  }));
  EXPECT_EQ(events, (Names{"inner", "after the nested run", "outer"}));
}

TEST(ActiveRun, RefusesCallbacksOutsideOfARun) {
  const std::string text = error_of<AutogradError>([] { autograd::queue_callback([] {}); });
  EXPECT_NE(text.find("queue_callback: needs a running backward()"), text.npos) << text;
}

}  // namespace
}  // namespace ebb
