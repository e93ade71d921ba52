// tests/autograd/hooks/gradient_gate_test.cpp -- gradients that wait for each other.
#include "ebb/autograd/hooks/gradient_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/core/runtime/parallel.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::GateGroup;
using autograd::GateHook;

using Pass = std::function<void(std::span<Tensor> grads, std::span<const Tensor> entered)>;

class FunctionGateHook final : public GateHook {
 public:
  FunctionGateHook(std::shared_ptr<GateGroup> group, size_t member, Pass pass)
      : GateHook(std::move(group), member), pass_(std::move(pass)) {}

 protected:
  void pass(std::span<Tensor> grads, std::span<const Tensor> entered) override {
    pass_(grads, entered);
  }

 private:
  Pass pass_;
};

autograd::MakeGateHook calling(Pass pass) {
  return [=](std::shared_ptr<GateGroup> group, size_t member) {
    return std::make_shared<FunctionGateHook>(std::move(group), member, pass);
  };
}

/// Multiplies gradient `index` by `factors[index]`.
Pass scaling(Floats factors) {
  return [=](std::span<Tensor> grads, std::span<const Tensor> /*entered*/) {
    for (size_t index = 0; index < grads.size(); ++index) {
      if (grads[index].defined()) grads[index] = grads[index] * factors[index];
    }
  };
}

std::shared_ptr<GateGroup> add_entry(const std::vector<Tensor>& outputs, Pass pass) {
  return autograd::add_entry_gate(outputs, calling(std::move(pass)));
}
size_t add_exit(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                uint64_t since, Pass pass, std::shared_ptr<GateGroup> entry = nullptr) {
  std::vector<autograd::GradientEdge> edges;
  for (const Tensor& input : inputs) edges.push_back(get_gradient_edge(input));
  return autograd::add_exit_gate(outputs, edges, since, std::move(entry), calling(std::move(pass)));
}

std::vector<Floats> grads_of(std::initializer_list<Tensor> leaves) {
  std::vector<Floats> all;
  for (const Tensor& one : leaves) all.push_back(floats(grad_of(one)));
  return all;
}

TEST(GradientGate, ReplacesTheGradientsOfSeveralOutputsAtOnce) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor left = x * 5, right = y * 7;
  std::vector<size_t> calls;
  add_entry({left, right}, [&](auto grads, auto) {
    calls.push_back(grads.size());
    std::swap(grads[0], grads[1]);
  });
  backward(left * 10 + right * 100);
  EXPECT_EQ(grads_of({x, y}), (std::vector<Floats>{{500}, {70}}));
  EXPECT_EQ(calls, std::vector<size_t>{2});
}

TEST(GradientGate, ReplacesWhatSeveralNodesSendToSeveralInputs) {
  const Tensor x = leaf({2}), y = leaf({3});
  const uint64_t since = autograd::next_sequence();
  const Tensor out = x * y + exp(x * 0) * y;
  EXPECT_EQ(add_exit({out}, {x, y}, since, scaling({10, 100})), 3u);
  backward(out + x + y);
  EXPECT_EQ(grads_of({x, y}), (std::vector<Floats>{{31}, {301}}));
}

TEST(GradientGate, TakesFromAnOutputThatIsUsedInsideWhatCameFromOutside) {
  const Tensor x = leaf({2});
  const Tensor first = x * 5;
  const Tensor second = first * 3;
  std::vector<Floats> seen;
  add_entry({first, second}, [&](auto grads, auto) {
    seen = {floats(grads[0]), floats(grads[1])};
    scaling({10, 100})(grads, {});
  });
  backward(first * 2 + second);
  EXPECT_EQ(seen, (std::vector<Floats>{{2}, {1}}));
  EXPECT_EQ(floats(grad_of(x)), Floats{5 * (20 + 300)});
}

TEST(GradientGate, OfTheOuterPartComesFirst) {
  const Tensor x = leaf({1});
  const Tensor left = x * 2, right = x * 3;
  std::vector<int> order;
  add_entry({left, right}, [&](auto, auto) { order.push_back(1); });
  add_entry({left, right}, [&](auto, auto) { order.push_back(2); });
  backward(left + right);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(GradientGate, TellsTheExitWhatTheEntryLetThrough) {
  const Tensor x = leaf({2}), y = leaf({3});
  const uint64_t since = autograd::next_sequence();
  const std::vector<Tensor> outs{x * y, y + 1};
  Floats told;
  auto entry = add_entry(outs, scaling({10, 100}));
  add_exit(
      outs, {x, y}, since,
      [&](auto, auto entered) {
        told = {floats(entered[0])[0], floats(entered[1])[0]};
      },
      entry);
  backward(outs[0] + outs[1]);
  EXPECT_EQ(told, (Floats{10, 100}));
  EXPECT_EQ(grads_of({x, y}), (std::vector<Floats>{{30}, {120}}));
}

TEST(GradientGate, WaitsOnlyForWhatTheRunComesTo) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor left = x * 5, right = y * 7;
  int calls = 0;
  add_entry({left, right}, [&](auto grads, auto) {
    ++calls;
    EXPECT_TRUE(grads[0].defined());
    EXPECT_FALSE(grads[1].defined());
    grads[0] = grads[0] * 2;
  });
  const Tensor out = left + right;
  EXPECT_EQ(floats(grad({{out}}, {{x}}, {}, {.retain_graph = true})[0]), Floats{10});
  EXPECT_EQ(floats(grad({{out}}, {{left}}, {}, {.retain_graph = true})[0]), Floats{2});
  EXPECT_EQ(calls, 2);
}

TEST(GradientGate, LetsRootsWaitToo) {
  const Tensor x = leaf({2});
  const Tensor left = x * 5, right = x * 7;
  add_entry({left, right}, scaling({10, 100}));
  backward(std::vector<Tensor>{left, right});
  EXPECT_EQ(floats(grad_of(x)), Floats{750});
}

/// Whether a run over `root` meets a gate that may hold gradients back, asked from inside.
bool meets_gates(const Tensor& root) {
  bool meets = false;
  backward(with_rule(root,
                     [&](const Tensor& grad) {
                       meets = GateGroup::any_in(*autograd::active_run());
                       return grad;
                     }),
           {}, {.retain_graph = true});
  return meets;
}

TEST(GradientGate, IsMetOnlyByRunsOverItsOwnGraph) {
  const Tensor x = leaf({2});
  const Tensor other = x * 3;
  const uint64_t before = GateGroup::count_made();
  {
    const Tensor left = x * 5, right = x * 7;
    add_entry({left}, scaling({10}));  // one member holds nothing back
    EXPECT_EQ(GateGroup::count_made(), before);
    EXPECT_FALSE(meets_gates(left + right));
    add_entry({left, right}, scaling({10, 100}));
    EXPECT_NE(GateGroup::count_made(), before);
    EXPECT_TRUE(meets_gates(left + right));
    EXPECT_FALSE(meets_gates(other));
  }
  EXPECT_FALSE(meets_gates(other));
}

/// 4 branches of slow nodes: work for a team.
Tensor wide_graph(const Tensor& x) {
  Tensor total = x;
  for (int branch = 0; branch < 4; ++branch) {
    Tensor value = x * 2;
    for (int step = 0; step < 50; ++step) {
      value = with_rule(value, [](const Tensor& grad) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        return grad * 1.0;
      });
    }
    total = total + value;
  }
  return total;
}

TEST(GradientGate, KeepsOnlyRunsThatMeetItOnOneThread) {
  const int threads = num_threads();
  set_num_threads(2);
  set_eager_teams(true);
  const Tensor x = leaf({1}), y = leaf({1});
  const Tensor inner = x * 1;
  const Tensor gated = wide_graph(inner), free = wide_graph(y);
  add_entry({gated, inner}, scaling({1, 1}));
  const uint64_t before = backward_threads().teams;
  backward(gated);
  EXPECT_EQ(backward_threads().teams, before);
  backward(free);
  EXPECT_GT(backward_threads().teams, before);
  EXPECT_EQ(floats(grad_of(x)), floats(grad_of(y)));
  set_eager_teams(false);
  set_num_threads(threads);
}

TEST(GradientGate, OfARunThatFailedLeavesNothing) {
  const Tensor x = leaf({2});
  const Tensor left = x * 5, right = x * 7;
  bool fails = true;
  add_entry({left, right}, [&](auto grads, auto) {
    if (std::exchange(fails, false)) throw std::runtime_error("enough");
    scaling({10, 100})(grads, {});
  });
  const Tensor out = left + right;
  EXPECT_THROW(backward(out, {}, {.retain_graph = true}), std::runtime_error);
  backward(out);
  EXPECT_EQ(floats(grad_of(x)), Floats{750});
}

TEST(GradientGate, RefusesAGradientThatDoesNotFit) {
  const Tensor x = leaf({2});
  const Tensor left = x * 5, right = x * 7;
  add_entry({left, right}, [](auto grads, auto) { grads[0] = vector_of<float>({1, 2, 3}); });
  const std::string text = error_of<ShapeError>([&] { backward(left + right); });
  EXPECT_NE(text.find("module hook 'hook': must return a gradient of float32 [1]"), text.npos);
}

}  // namespace
}  // namespace ebb
