// tests/autograd/graph_support.h -- what tests of the graph share: leaves, and nodes made by hand.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <barrier>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/clone.h"
#include "tests/ops/op_test_support.h"

namespace ebb {

/// A 1-d float32 leaf that requires a gradient.
inline Tensor leaf(std::initializer_list<float> values) {
  return requires_grad_(vector_of<float>(values));
}
/// A 0-d one.
inline Tensor scalar_leaf(float value) { return requires_grad_(tensor_of<float>({value}, {})); }

/// An op of one input whose backward rule is the test's own.
class RuleBackward final : public autograd::Node {
 public:
  using Rule = std::function<Tensor(const Tensor& grad_out)>;
  const char* name() const override { return "RuleBackward"; }
  void apply(Tensor* grad_outs, Tensor* grad_inputs, autograd::NodeRun&) override {
    grad_inputs[0] = rule(grad_outs[0]);
  }
  Rule rule;
};

/// A copy of `input` whose gradient passes through `rule`.
inline Tensor with_rule(const Tensor& input, RuleBackward::Rule rule) {
  const NoGradGuard guard;
  const Tensor out = clone(input);
  auto node = autograd::make_node<RuleBackward>(1, 1, out.ndim());
  node->rule = std::move(rule);
  const uint64_t above = autograd::add_edge(*node, 0, input);
  autograd::set_history(std::move(node), above, out, 0);
  return out;
}

/// The first number of each gradient, -1 where there is none.
inline Floats first_of_each(std::span<const Tensor> grads) {
  Floats all;
  for (const Tensor& grad : grads) all.push_back(grad.defined() ? floats(grad)[0] : -1);
  return all;
}

/// Runs `body(index)` on so many threads, which begin at one moment, and waits for them.
inline void on_threads(int count, const std::function<void(int)>& body) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      start.arrive_and_wait();
      body(index);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Runs `body` on a thread with a stack of so many bytes, and waits for it.
inline void run_on_small_stack(size_t bytes, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  const auto call = [](void* body) -> void* {
    (*static_cast<std::function<void()>*>(body))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace ebb
