// tests/optim/state_test.cpp -- an optimizer's state: resuming from it, and what is refused.
#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/rmsprop.h"
#include "ebb/optim/sgd.h"
#include "tests/ops/op_test_support.h"
#include "tests/optim/parameter.h"

namespace ebb::optim {
namespace {

using ebb::testing::parameter;
using ebb::testing::to_vector;
using ebb::testing::vector_of;
using Doubles = std::vector<double>;

TEST(OptimizerState, ResumesExactly) {
  for (const char* kind : {"Adagrad", "Adam", "AdamW", "RMSprop", "SGD"}) {
    const Tensor straight = parameter({1.0, 2.0}, {0.5, -1.0});
    const Tensor resumed = parameter({1.0, 2.0}, {0.5, -1.0});
    const auto first = make_optimizer(kind, {straight});
    const auto second = make_optimizer(kind, {resumed});
    for (const auto& optimizer : {first.get(), second.get()}) {
      optimizer->assign_options([](const OptionField& option) {
        if (std::string_view(option.name) == "momentum") *option.number = 0.5;
      });
      optimizer->step();
    }
    const auto third = make_optimizer(kind, {resumed});
    third->assign_options([](const OptionField& option) {
      if (std::string_view(option.name) == "momentum") *option.number = 0.5;
    });
    third->load_state_dict(second->state_dict());
    EXPECT_EQ(third->steps(0), 1) << kind;
    first->step();
    third->step();
    EXPECT_EQ(to_vector<double>(straight), to_vector<double>(resumed)) << kind;
  }
}

TEST(OptimizerState, IsListedUnderThePositionOfTheParameter) {
  const Tensor idle = requires_grad_(vector_of(Doubles{1.0}));
  AdamW optimizer({idle, parameter({1.0}, {1.0})});
  EXPECT_TRUE(optimizer.state_dict().empty());
  optimizer.step();
  EXPECT_EQ(names_of(optimizer.state_dict()),
            (std::vector<std::string>{"1.step", "1.exp_avg", "1.exp_avg_sq"}));
}

TEST(OptimizerState, IsCopiedWhenItIsGiven) {
  const Tensor p = parameter({0.0}, {1.0});
  SGD optimizer({p}, {.lr = 1.0, .momentum = 0.5});
  const Tensor buffer = vector_of(Doubles{4.0});
  optimizer.set_state(0, 0, {{"momentum_buffer", buffer}});
  buffer.data<double>()[0] = 100.0;
  optimizer.step();  // b = 0.5 * 4 + 1
  EXPECT_EQ(to_vector<double>(p), Doubles{-3.0});
  EXPECT_EQ(to_vector<double>(optimizer.state(0, "momentum_buffer")), Doubles{3.0});
}

TEST(OptimizerState, HoldsOnlyWhatTheOptionsNeed) {
  RMSprop optimizer({parameter({0.0}, {1.0})});
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().size(), 2u);  // step and square_avg
  optimizer.set_options({.momentum = 0.5, .centered = true});
  optimizer.step();
  EXPECT_EQ(optimizer.state_dict().size(), 4u);
}

TEST(OptimizerState, KeepsMastersOfHalfParameters) {
  for (const char* kind : {"Adagrad", "Adam", "AdamW", "RMSprop", "SGD"}) {
    const Tensor weight = parameter(std::vector<BFloat16>(3, BFloat16(1.0f)),
                                    std::vector<BFloat16>(3, BFloat16(1.0f)));
    const auto optimizer = make_optimizer(kind, {weight});
    optimizer->assign_options([](const OptionField& option) {
      if (std::string_view(option.name) == "lr") *option.number = 1e-5;
      if (std::string_view(option.name) == "master_weights") *option.flag = true;
    });
    EXPECT_TRUE(optimizer->has_master_weights());
    optimizer->step();
    const Tensor master = optimizer->state(0, "master_weight");
    ASSERT_EQ(master.dtype(), DType::float32) << kind;
    EXPECT_LT(to_vector<float>(master)[0], 1.0f) << kind;
    EXPECT_EQ(static_cast<float>(to_vector<BFloat16>(weight)[0]), 1.0f) << kind;
    optimizer->set_master_weights(false);
    EXPECT_FALSE(optimizer->state(0, "master_weight").defined()) << kind;
  }
}

TEST(OptimizerState, IsRefusedIfItDoesNotFit) {
  AdamW optimizer({parameter({0.0}, {1.0})});
  const Tensor two = vector_of(Doubles{1, 2});
  EXPECT_EQ(error_of<ShapeError>([&] {
              optimizer.set_state(0, 1, {{"exp_avg", two}});
            }),
            "AdamW: needs state 'exp_avg' of shape [1] for parameter 0, got [2]");
  EXPECT_EQ(error_of<DTypeError>([&] {
              optimizer.set_state(0, 1, {{"exp_avg", vector_of(std::vector<float>{1})}});
            }),
            "AdamW: needs state 'exp_avg' of float64 for parameter 0, got float32");
  EXPECT_EQ(error_of<ValueError>([&] { optimizer.set_state(0, -1, {}); }),
            "AdamW: needs step >= 0, got -1");
  EXPECT_EQ(error_of<IndexError>([&] { optimizer.set_state(1, 1, {}); }),
            "AdamW: needs a parameter below 1, got 1");
  EXPECT_EQ(error_of<IndexError>([&] { optimizer.steps(7); }),
            "AdamW: needs a parameter below 1, got 7");
  EXPECT_EQ(error_of<ValueError>([&] { optimizer.state(0, "speed"); }),
            "AdamW: needs state among exp_avg, exp_avg_sq, max_exp_avg_sq, master_weight, "
            "got 'speed'");
}

TEST(OptimizerState, OfAnotherLayoutIsRefused) {
  SGD optimizer({parameter({0.0}, {1.0})});
  const Tensor one = vector_of(Doubles{1});
  const auto text = [&](const char* name) {
    return error_of<ValueError>([&] { optimizer.load_state_dict({{name, one}}); });
  };
  EXPECT_EQ(text("momentum"), "load_state_dict: needs names such as '0.step', got 'momentum'");
  EXPECT_EQ(text("1.momentum_buffer"),
            "load_state_dict: needs state of 1 parameters, got '1.momentum_buffer'");
  EXPECT_EQ(text("0.step"), "load_state_dict: needs one int64 as '0.step', got something else");
}

}  // namespace
}  // namespace ebb::optim
