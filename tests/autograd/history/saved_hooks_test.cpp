// tests/autograd/history/saved_hooks_test.cpp -- packing what is saved: hooks, bytes, mutation.
#include "ebb/autograd/history/saved_hooks.h"

#include <gtest/gtest.h>

#include <thread>

#include "ebb/autograd/history/mutation_guard.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/watch/saved_report.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Hooks that count, and keep what they are given.
struct CountingHooks final : SavedTensorsHooks {
  std::any pack(const Tensor& value) override {
    ++packed;
    return value;
  }
  Tensor unpack(const std::any& value) override {
    ++unpacked;
    return std::any_cast<Tensor>(value);
  }
  int packed = 0;
  int unpacked = 0;
};

TEST(SavedHooks, PackEachSavedTensorOnceAndUnpackItWhenNeeded) {
  const Tensor x = leaf({2});
  const auto hooks = std::make_shared<CountingHooks>();
  Tensor y;
  {
    const SavedTensorsHooksGuard guard(hooks);
    y = exp(x * x) + 1;
  }
  static_cast<void>(x * x);
  EXPECT_EQ(hooks->packed, 3);
  backward(y, {}, {.retain_graph = true});
  backward(y);
  EXPECT_EQ(hooks->unpacked, 6);
}

TEST(SavedHooks, ComposeInnermostFirst) {
  const Tensor x = leaf({3});
  std::string order;
  const auto named = [&](char name) {
    return make_saved_tensors_hooks(
        [&order, name](const Tensor& value) -> std::any {
          order += name;
          return value * 2;
        },
        [&order, name](const std::any& value) {
          order += name;
          return std::any_cast<Tensor>(value) * 0.5;
        });
  };
  Tensor y;
  {
    const SavedTensorsHooksGuard outer(named('o')), inner(named('i'));
    y = sin(x);
  }
  backward(y);
  EXPECT_EQ(order, "iooi");
}

TEST(SavedHooks, MayPackIntoAnything) {
  const Tensor x = leaf({1, 2});
  Tensor y;
  {
    const SavedTensorsHooksGuard hooks(
        [](const Tensor& value) -> std::any { return floats(value); },
        [](const std::any& packed) {
          const Floats numbers = std::any_cast<Floats>(packed);
          return tensor_of<float>({numbers[0], numbers[1]}, {2});
        });
    y = sum(x * x);
  }
  backward(y);
  EXPECT_EQ(floats(grad_of(x)), (Floats{2, 4}));
}

TEST(SavedHooks, RefuseAPackHookThatWritesToItsInput) {
  const Tensor x = leaf({2});
  const SavedTensorsHooksGuard hooks(
      [](const Tensor& value) -> std::any { return mul_(value, 2); },
      [](const std::any& value) { return std::any_cast<Tensor>(value); });
  const std::string text = error_of<AutogradError>([&] { exp(x); });
  EXPECT_TRUE(contains(text, "ExpBackward: a pack hook must leave what it is given")) << text;
}

TEST(SavedHooks, RefuseAnotherShapeOrDType) {
  const Tensor x = leaf({1, 2});
  const auto with_result = [&](Tensor result) {
    const SavedTensorsHooksGuard hooks([](const Tensor& value) -> std::any { return value; },
                                       [result](const std::any&) { return result; });
    return sum(exp(x));
  };
  const Tensor longer = with_result(vector_of<float>({1, 2, 3}));
  EXPECT_TRUE(contains(error_of<ShapeError>([&] { backward(longer); }), "[2], got [3]"));
  const Tensor wider = with_result(vector_of<double>({1, 2}));
  EXPECT_TRUE(contains(error_of<DTypeError>([&] { backward(wider); }), "got float64"));
  const Tensor nothing = with_result({});
  EXPECT_TRUE(contains(error_of<DTypeError>([&] { backward(nothing); }), "must return a Tensor"));
}

TEST(SavedHooks, CheckTheVersionOfMemoryTheyKeep) {
  const Tensor x = leaf({2});
  const Tensor factor = vector_of<float>({3});
  const SavedTensorsHooksGuard guard(std::make_shared<CountingHooks>());
  const Tensor y = x * factor;
  add_(factor, 1);
  EXPECT_TRUE(contains(error_of<AutogradError>([&] { backward(y); }), "modified in place by add_"));
}

TEST(SavedHooks, LeaveACopyFreeOfTheVersionCheck) {
  const Tensor x = leaf({2});
  const Tensor factor = vector_of<float>({3});
  const SavedTensorsHooksGuard hooks(
      [](const Tensor& value) -> std::any { return clone(value); },
      [](const std::any& value) { return std::any_cast<Tensor>(value); });
  const Tensor y = x * factor;
  add_(factor, 1);
  backward(y);
  EXPECT_EQ(floats(grad_of(x)), Floats{3});
}

TEST(SavedHooks, PackTheOperandsOfAnInPlaceOpBeforeItWrites) {
  const Tensor x = leaf({2});
  const SavedTensorsHooksGuard hooks(
      [](const Tensor& value) -> std::any { return clone(value); },
      [](const std::any& value) { return std::any_cast<Tensor>(value); });
  const Tensor y = x * 3;
  mul_(y, y);
  backward(y);
  EXPECT_EQ(floats(grad_of(x)), Floats{36});  // d(9 x^2) / dx
}

TEST(SavedHooks, GiveTheHistoryBack) {
  const Tensor x = leaf({2});
  Tensor first;
  {
    const SavedTensorsHooksGuard hooks(
        [](const Tensor& value) -> std::any { return clone(value); },
        [](const std::any& value) { return std::any_cast<Tensor>(value); });
    const Tensor y = x * x * x;
    first = grad(std::span(&y, 1), std::span(&x, 1), {}, {.create_graph = true})[0];
  }
  backward(first);
  EXPECT_EQ(floats(grad_of(x)), Floats{12});
}

TEST(SavedHooks, BelongToTheirThread) {
  const Tensor x = leaf({2});
  const auto hooks = std::make_shared<CountingHooks>();
  const SavedTensorsHooksGuard guard(hooks);
  std::thread([&] { static_cast<void>(exp(x)); }).join();
  EXPECT_EQ(hooks->packed, 0);
}

TEST(SavedHooks, CanBeDisabledWithAMessage) {
  const DisableSavedTensorsHooksGuard disabled("not here");
  EXPECT_EQ(error_of<AutogradError>(
                [] { const SavedTensorsHooksGuard guard(std::make_shared<CountingHooks>()); }),
            "not here");
}

TEST(SavedHooks, CannotBeDisabledOnceInstalled) {
  const SavedTensorsHooksGuard guard(std::make_shared<CountingHooks>());
  EXPECT_TRUE(contains(
      error_of<AutogradError>([] { const DisableSavedTensorsHooksGuard late("too late"); }),
      "needs no hooks to be installed"));
}

TEST(SavedHooks, ReleaseWhatWasPackedWithTheNode) {
  const auto alive = std::make_shared<int>(0);
  const Tensor x = leaf({2});
  Tensor y;
  {
    const SavedTensorsHooksGuard hooks([alive](const Tensor&) -> std::any { return alive; },
                                       [](const std::any&) { return vector_of<float>({1}); });
    y = exp(x);
  }
  EXPECT_EQ(alive.use_count(), 3);  // here, in the hook, in the node
  backward(y);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(SavedReport, CountsSharedMemoryOnceAndHoldsNothing) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = exp(x);
  const Tensor z = sum(y * y);
  EXPECT_EQ(autograd::saved_bytes(std::span(&z, 1)), 16u);
  autograd::Node& node = *static_cast<autograd::Node*>(y.impl()->producer);
  const std::vector<autograd::SavedInfo> infos = autograd::list_saved(node);
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].name, "out");
  EXPECT_EQ(infos[0].bytes, 16u);
  EXPECT_EQ(infos[0].shape, Shape{4});
  backward(z);
  EXPECT_EQ(autograd::saved_bytes(std::span(&z, 1)), 0u);
}

TEST(SavedReport, ShowsAttributesOfNodes) {
  struct Attributes final : autograd::AttributeVisitor {
    void visit(const char* name, autograd::SavedAttribute value) override {
      found.emplace_back(name, std::move(value));
    }
    std::vector<std::pair<std::string, autograd::SavedAttribute>> found;
  } attributes;
  const Tensor y = leaf({2}) * 3;
  static_cast<autograd::Node*>(y.impl()->producer)->visit_attributes(attributes);
  ASSERT_EQ(attributes.found.size(), 1u);
  EXPECT_EQ(attributes.found[0].first, "other");
  EXPECT_EQ(std::get<Scalar>(attributes.found[0].second).to_int(), 3);
}

TEST(MutationGuard, KeepsTheOldValuesOfWhatIsWritten) {
  const Tensor x = leaf({3});
  const Tensor factor = vector_of<float>({2});
  Tensor y;
  {
    const AllowMutationGuard guard;
    y = x * factor;
    fill_(factor, 100);
  }
  add_(factor, 1);
  backward(y);
  EXPECT_EQ(floats(grad_of(x)), Floats{2});
}

TEST(MutationGuard, IsNotNested) {
  const AllowMutationGuard guard;
  EXPECT_TRUE(contains(error_of<AutogradError>([] { const AllowMutationGuard inner; }),
                       "contexts cannot be nested"));
}

TEST(MutationGuard, CopiesNothingThatIsNotWritten) {
  const Tensor x = leaf({3});
  const Tensor factor = vector_of<float>({2});
  const AllowMutationGuard guard;
  const Tensor y = x * factor;
  autograd::Node& node = *static_cast<autograd::Node*>(y.impl()->producer);
  struct Look final : autograd::SavedVisitor {
    void visit(const char* name, autograd::SavedTensor& saved) override {
      if (std::string(name) == "other") node_value = saved.unpack(*node, name, false);
    }
    autograd::Node* node = nullptr;
    Tensor node_value;
  } look;
  look.node = &node;
  node.visit_saved(look);
  EXPECT_EQ(look.node_value.data_ptr(), factor.data_ptr());
}

}  // namespace
}  // namespace ebb
