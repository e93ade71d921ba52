// tests/autograd/hooks/multi_grad_hook_test.cpp -- one hook for several tensors.
#include "ebb/autograd/hooks/multi_grad_hook.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::MultiGradMode;

TEST(MultiGradHook, IsCalledOncePerRunWithAllGradients) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor tensors[] = {x, y, x};
  std::vector<Floats> calls;
  register_multi_grad_hook(tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); });
  backward(x * y);
  backward(x * y);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{3, 2, 3}, Floats{3, 2, 3}}));
}

TEST(MultiGradHook, HasNoneForTensorsThatTheRunDoesNotNeed) {
  const Tensor x = leaf({2}), y = leaf({3}), unreached = leaf({1});
  const Tensor tensors[] = {x, y, unreached};
  std::vector<Floats> calls;
  register_multi_grad_hook(tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); });
  const Tensor out = x * y;
  grad({{out}}, {{x}}, {}, {.retain_graph = true});
  backward(out);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{3, -1, -1}, Floats{3, 2, -1}}));
}

TEST(MultiGradHook, OfModeAnyIsCalledWithTheFirstGradient) {
  const Tensor x = leaf({2});
  const Tensor h = x * 5;
  const Tensor tensors[] = {x, h};
  std::vector<Floats> calls;
  register_multi_grad_hook(
      tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); }, MultiGradMode::any);
  backward(h * 7);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{7}}));
}

TEST(MultiGradHook, CountsEachRunByItselfAlsoAfterOneThatFailed) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor tensors[] = {x, y};
  std::vector<Floats> calls;
  register_multi_grad_hook(tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); });
  bool fails = true;
  const Tensor guarded = with_rule(x, [&](const Tensor& grad) {
    if (fails) throw ValueError("once");
    return grad;
  });
  const Tensor out = guarded * y;
  EXPECT_THROW(backward(out, {}, {.retain_graph = true}), ValueError);
  fails = false;
  backward(out);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{3, 2}}));
}

TEST(MultiGradHook, CountsNestedRunsApart) {
  const Tensor x = leaf({2}), y = leaf({3});
  const Tensor tensors[] = {x, y};
  std::vector<Floats> calls;
  register_multi_grad_hook(tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); });
  const Tensor inner = x * y * 10;
  const Tensor out = with_rule(x,
                               [&](const Tensor& grad) {
                                 backward(inner);
                                 return grad;
                               }) *
                     y;
  backward(out);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{30, 20}, Floats{3, 2}}));
}

TEST(MultiGradHook, OutlivesNodesOfItsGroup) {
  const Tensor x = leaf({2});
  Tensor h = x * 5;
  const Tensor tensors[] = {x, h};
  std::vector<Floats> calls;
  autograd::HookHandles handles =
      register_multi_grad_hook(tensors, [&](auto grads) { calls.push_back(first_of_each(grads)); });
  const_cast<Tensor&>(tensors[1]) = {};
  h = {};
  backward(x * 7);
  EXPECT_EQ(calls, (std::vector<Floats>{Floats{7, -1}}));
  EXPECT_TRUE(handles.remove());
  EXPECT_FALSE(handles.remove());
  backward(x * 7);
  EXPECT_EQ(calls.size(), 1u);
}

/// Does nothing; what matters is who is there when it is made.
struct SilentHook final : autograd::MultiGradHook {
  using MultiGradHook::MultiGradHook;
  void finish(std::span<const Tensor>) override {}
};

TEST(MultiGradHook, BelongsToThePlacesThatTensorsHadWhenItWasAsked) {
  const Tensor x = leaf({2});
  const Tensor tensors[] = {x * 5, x * 3};
  const auto make = [&](auto group, size_t position) {
    if (position == 0) detach_(tensors[1]);
    return std::make_shared<SilentHook>(std::move(group), position);
  };
  autograd::HookHandles handles = autograd::add_multi_grad_hook(tensors, {}, make);
  EXPECT_EQ(handles.handles().size(), 2u);
  backward(tensors[0]);  // asks the group which of its nodes are reached
  EXPECT_TRUE(handles.remove());
}

TEST(MultiGradHook, RefusesATensorWithoutGradientByPosition) {
  const Tensor tensors[] = {leaf({1}), vector_of<float>({1})};
  const std::string text =
      error_of<AutogradError>([&] { register_multi_grad_hook(tensors, [](auto) {}); });
  EXPECT_NE(text.find("tensor 1 must require a gradient"), text.npos) << text;
}

}  // namespace
}  // namespace ebb
