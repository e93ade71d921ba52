// tests/nn/module_test.cpp -- registration, listing and the state dict.
#include "ebb/nn/module.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/io/safetensors.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/layers.h"
#include "tests/ops/op_test_support.h"

namespace ebb::nn {
namespace {

struct Block : Module {
  std::shared_ptr<Linear> linear = register_module("linear", std::make_shared<Linear>(2, 3));
  Tensor scale = register_parameter("scale", ones(Shape{1}));
  Tensor count = register_buffer("count", zeros(Shape{1}));
};

/// Gives tests access to registration.
struct Open : Module {
  using Module::register_buffer;
  using Module::register_module;
  using Module::register_parameter;
};

using Names = std::vector<std::string>;

TEST(Module, ListsOwnTensorsBeforeThoseOfSubmodules) {
  const Block block;
  EXPECT_EQ(names_of(block.named_parameters()), (Names{"scale", "linear.weight", "linear.bias"}));
  EXPECT_EQ(names_of(block.named_buffers()), Names{"count"});
  EXPECT_EQ(names_of(block.state_dict()),
            (Names{"scale", "count", "linear.weight", "linear.bias"}));
  EXPECT_TRUE(block.parameters()[1].is_same(block.linear->weight));
}

TEST(Module, RefusesAModuleThatHoldsIt) {
  const auto outer = std::make_shared<Open>();
  const auto inner = std::make_shared<Open>();
  outer->register_module("inner", inner);
  const auto text = [](const auto& module, const auto& part) {
    return error_of<ValueError>([&] { module->register_module("part", part); });
  };
  const std::string wanted =
      "register_module: needs a module that does not hold this one, got one for 'part' that does";
  EXPECT_EQ(text(inner, outer), wanted);
  EXPECT_EQ(text(inner, inner), wanted);
  EXPECT_EQ(outer->named_modules().size(), 2u);
}

TEST(Module, ListsASharedModuleOnce) {
  const auto shared = std::make_shared<Linear>(2, 2);
  const ModuleList list({shared, shared});
  EXPECT_EQ(names_of(list.named_parameters()), (Names{"0.weight", "0.bias"}));
}

TEST(Module, LetsMessagesCallATensorByItsPathFromTheOutermostModule) {
  Open model;
  const auto block = model.register_module("block", std::make_shared<Block>());
  EXPECT_EQ(describe_tensor(block->linear->bias), "float32 [3] named 'block.linear.bias'");
  EXPECT_EQ(describe_tensor(block->count), "float32 [1] named 'block.count'");
  EXPECT_EQ(name_of(block->scale), "");
  EXPECT_EQ(error_of<ShapeError>([&] {
              (*block->linear)(ones(Shape{5, 4}));
            }),
            "linear: the last size of input must be the last of weight, got float32 [5, 4] and "
            "float32 [3, 2] named 'block.linear.weight'\nhint: this input needs nn.Linear(4, 3)");
}

TEST(Module, MarksParametersAndLeavesBuffersAlone) {
  const Block block;
  EXPECT_TRUE(block.scale.requires_grad());
  EXPECT_FALSE(block.count.requires_grad());
}

TEST(Module, TakesOverAState) {
  Block from, to;
  fill_(detached(from.scale), 7);
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(to.scale.item<float>(), 7.0f);
  EXPECT_EQ(to.linear->weight.data<float>()[5], from.linear->weight.data<float>()[5]);
  EXPECT_TRUE(to.scale.requires_grad());
}

TEST(Module, RefusesNamesThatOnlyOneSideHas) {
  Block block;
  NamedTensors state = block.state_dict();
  state[0].first = "other";
  EXPECT_EQ(error_of<ValueError>([&] { block.load_state_dict(state); }),
            "load_state_dict: needs the module's own names, got missing [scale] and unexpected "
            "[other]");
  const LoadReport report = block.load_state_dict(state, false);
  EXPECT_EQ(report.missing_keys, Names{"scale"});
  EXPECT_EQ(report.unexpected_keys, Names{"other"});
}

TEST(Module, CopiesNothingIfOneShapeDiffers) {
  Block block;
  NamedTensors state = block.state_dict();
  state[0].second = full(Shape{1}, 9.0);
  state[2].second = zeros(Shape{3, 3});
  EXPECT_EQ(error_of<ShapeError>([&] { block.load_state_dict(state); }),
            "load_state_dict: needs shape [3, 2] for 'linear.weight', got [3, 3]");
  EXPECT_EQ(block.scale.item<float>(), 1.0f);
}

TEST(Module, SwitchesTrainingEverywhere) {
  Block block;
  block.eval();
  EXPECT_FALSE(block.linear->is_training());
  block.train();
  EXPECT_TRUE(block.linear->is_training());
}

TEST(Module, ClearsGradients) {
  Block block;
  set_grad(block.scale, ones(Shape{1}));
  block.zero_grad(false);
  EXPECT_EQ(grad_of(block.scale).item<float>(), 0.0f);
  block.zero_grad();
  EXPECT_FALSE(grad_of(block.scale).defined());
  block.requires_grad_(false);
  EXPECT_FALSE(block.linear->weight.requires_grad());
}

TEST(Module, RefusesNamesThatAreTakenOrHoldADot) {
  Open module;
  module.register_parameter("a", ones(Shape{1}));
  EXPECT_EQ(error_of<ValueError>([&] { module.register_buffer("a", ones(Shape{1})); }),
            "register_buffer: needs a new name without dots, got 'a'");
  EXPECT_EQ(error_of<ValueError>([&] { module.register_parameter("b.c", ones(Shape{1})); }),
            "register_parameter: needs a new name without dots, got 'b.c'");
  EXPECT_EQ(error_of<ValueError>([&] { module.register_parameter("d", Tensor()); }),
            "register_parameter: needs a tensor, got nothing for 'd'");
  EXPECT_EQ(error_of<ValueError>([&] { module.register_buffer("d", Tensor()); }),
            "register_buffer: needs a tensor, got nothing for 'd'");
  EXPECT_EQ(error_of<ValueError>([&] { module.register_module<Module>("d", nullptr); }),
            "register_module: needs a module, got nothing for 'd'");
}

TEST(Module, ListsModulesUnderDottedNames) {
  Open module;
  module.register_module("block", std::make_shared<Block>());
  Names names;
  for (const auto& entry : module.named_modules()) names.push_back(entry.first);
  EXPECT_EQ(names, (Names{"", "block", "block.linear"}));
}

TEST(Module, ConvertsInPlaceSoThatHandlesStayValid) {
  Block block;
  const Tensor weight = block.linear->weight;
  set_grad(block.scale, ones(Shape{1}));
  block.to(DType::float64);
  EXPECT_EQ(weight.dtype(), DType::float64);
  EXPECT_EQ(block.count.dtype(), DType::float64);
  EXPECT_EQ(grad_of(block.scale).dtype(), DType::float64);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ((*block.linear)(ones(Shape{1, 2}, DType::float64)).dtype(), DType::float64);
  EXPECT_EQ(error_of<DTypeError>([&] { block.to(DType::int64); }),
            "to: needs a floating or complex dtype, got int64");
}

TEST(Module, AppliesAFunctionToChildrenFirst) {
  Block block;
  std::vector<Module*> seen;
  block.apply([&](Module& module) { seen.push_back(&module); });
  EXPECT_EQ(seen, (std::vector<Module*>{block.linear.get(), &block}));
}

TEST(Module, LeavesBuffersOutOfTheState) {
  Open module;
  module.register_buffer("scratch", ones(Shape{1}), false);
  EXPECT_TRUE(module.state_dict().empty());
  EXPECT_EQ(names_of(module.named_buffers()), Names{"scratch"});
}

TEST(Module, SavesItsStateAndLoadsIt) {
  Block from, to;
  fill_(detached(from.scale), 7);
  const std::string path = ::testing::TempDir() + "ebb_module_test.safetensors";
  io::save_safetensors(path, from.state_dict());
  to.load_state_dict(io::load_safetensors(path).tensors);
  std::remove(path.c_str());
  EXPECT_EQ(to.scale.item<float>(), 7.0f);
  EXPECT_EQ(to.linear->weight.data<float>()[5], from.linear->weight.data<float>()[5]);
}

TEST(Module, HasNoForwardOfItsOwn) {
  Block block;
  EXPECT_EQ(error_of<NotImplementedError>([&] { block(ones(Shape{1})); }),
            "forward: needs a module that overrides it for one tensor");
}

}  // namespace
}  // namespace ebb::nn
