// tests/nn/module_scope_test.cpp -- what a call of a module records is noted as the module's.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/tanh.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/runtime/profile.h"
#include "ebb/graph/snapshot.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/layers.h"
#include "ebb/nn/losses.h"

namespace ebb::nn {
namespace {

using Names = std::map<std::string, std::string>;

/// Each op's module: the path, and the class in brackets.
Names modules_of(const Tensor& result) {
  const graph::Snapshot found = graph::take_snapshot(result);
  Names names;
  for (uint32_t node = 0; node < found.nodes.size(); ++node) {
    const uint32_t module = found.nodes[node].module;
    if (module == graph::kNone) continue;
    const graph::ModuleRow& row = found.modules[module];
    names[std::string(found.name_of(node))] =
        found.strings[row.path] + " (" + found.strings[row.type] + ")";
  }
  return names;
}

struct Inner : Module {
  std::shared_ptr<Linear> scores = register_module("scores", std::make_shared<Linear>(3, 3));
  Tensor forward(const Tensor& x) override { return tanh((*scores)(x)); }
};

struct Outer : Module {
  std::shared_ptr<Inner> inner = register_module("inner", std::make_shared<Inner>());
  std::shared_ptr<Sigmoid> stranger = std::make_shared<Sigmoid>();
  Tensor forward(const Tensor& x) override { return exp((*stranger)((*inner)(x))); }
};

template <typename Kind>
struct Wrapped : Module {
  Tensor forward(const Tensor& x) override { return exp(x); }
};

TEST(ModuleScope, IsThePathFromTheOutermostCall) {
  Outer net;
  const Names expected = {{"LinearBackward", "inner.scores (Linear)"},
                          {"TanhBackward", "inner (Inner)"},
                          {"SigmoidBackward", "Sigmoid (Sigmoid)"},
                          {"ExpBackward", " (Outer)"}};
  const Tensor x = ones(Shape{2, 3});
  EXPECT_EQ(modules_of(net(x)), expected);
  EXPECT_EQ(modules_of(net(x)), expected);  // as remembered
}

TEST(ModuleScope, OfAModuleFollowsWhoCallsIt) {
  Outer net;
  const Tensor x = ones(Shape{2, 3});
  net(x);
  const Names expected = {{"LinearBackward", "scores (Linear)"}, {"TanhBackward", " (Inner)"}};
  EXPECT_EQ(modules_of((*net.inner)(x)), expected);
  EXPECT_EQ(modules_of(net(x)).at("LinearBackward"), "inner.scores (Linear)");
}

TEST(ModuleScope, SequentialCallsItsModules) {
  Sequential net(Linear(3, 3), ReLU(), Sequential(Tanh()));
  const Names expected = {{"LinearBackward", "0 (Linear)"},
                          {"ReluBackward", "1 (ReLU)"},
                          {"TanhBackward", "2.0 (Tanh)"}};
  EXPECT_EQ(modules_of(net(ones(Shape{2, 3}))), expected);
}

TEST(ModuleScope, IsLeftAfterTheCallAndAfterAnError) {
  Linear layer(3, 3);
  EXPECT_THROW(layer(ones(Shape{2, 4})), ShapeError);
  EXPECT_TRUE(modules_of(exp(requires_grad_(ones(Shape{2})))).empty());
}

TEST(ModuleScope, LossesAndClassesOfTemplatesHaveOne) {
  MSELoss loss;
  const Tensor x = requires_grad_(ones(Shape{2}));
  EXPECT_EQ(modules_of(loss(x, zeros(Shape{2}))).begin()->second, " (MSELoss)");
  Wrapped<Linear> wrapped;
  EXPECT_EQ(modules_of(wrapped(x)).at("ExpBackward"), " (Wrapped<ebb::nn::Linear>)");
}

TEST(ModuleScope, AForwardOfAnotherKindMayOpenItsOwn) {
  struct TwoInputs : Module {
    Tensor run(const Tensor& one, const Tensor& other) {
      const ModuleCall call(*this);
      return mul(one, other);
    }
  } net;
  EXPECT_EQ(modules_of(net.run(requires_grad_(ones(Shape{2})), ones(Shape{2}))).at("MulBackward"),
            " (TwoInputs)");
}

}  // namespace
}  // namespace ebb::nn
