// tests/autograd/history/saved_hooks_test.cpp -- packing what is saved into what C++ likes: hooks,
// attributes, mutation.
//
// The rest is tested in tests/python/saved.
#include "ebb/autograd/history/saved_hooks.h"

#include <gtest/gtest.h>

#include "ebb/autograd/history/mutation_guard.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

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
