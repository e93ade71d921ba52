// tests/autograd/watch/call_text_test.cpp -- lines of the log, and the key that selects kernels.
#include "ebb/autograd/watch/call_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/engine/grad.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/argmax.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/log.h"
#include "ebb/ops/creation.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

std::vector<std::string> lines;

/// What the log says of `body`, up to the place of each line.
template <typename Body>
std::vector<std::string> logged(const char* levels, Body&& body) {
  lines.clear();
  set_log_sink([](LogPart part, int, const std::string& text) {
    lines.push_back(str(name_of(part), ": ", text.substr(0, text.find(" at "))));
  });
  set_log_levels(levels);
  body();
  set_log_levels("0");
  set_log_sink(nullptr);
  return lines;
}

TEST(CallText, KernelsAreSelectedByWhatOperandsPromoteTo) {
  const Tensor single = ops::zeros({2}, DType::float32), half = ops::zeros({2}, DType::float16);
  const Tensor whole = ops::zeros({2}, DType::int64), truth = ops::zeros({2}, DType::boolean);
  const auto dtype_of = [](std::vector<const Tensor*> operands, const Tensor& result) {
    return autograd::key_of_call(operands, result).dtype;
  };
  EXPECT_EQ(dtype_of({&single, &half}, single), DType::float32);
  EXPECT_EQ(dtype_of({&half, &whole}, half), DType::float16);
  EXPECT_EQ(dtype_of({&single, &single}, truth), DType::float32);
  EXPECT_EQ(dtype_of({&whole}, single), DType::float32);
  EXPECT_EQ(dtype_of({&whole}, truth), DType::int64);
  EXPECT_EQ(dtype_of({}, half), DType::float16);
}

TEST(CallText, OpsAreLoggedOnceWithOrWithoutAGradient) {
  const Tensor x = leaf({1.0f, 2.0f});
  const auto calls = [&] {
    exp(x);
    exp(detached(x));
    const NoGradGuard no_grad;
    argmax(x);
  };
  const std::vector<std::string> expected = {"op: exp (cpu, strided, float32)",
                                             "op: exp (cpu, strided, float32)",
                                             "op: argmax (cpu, strided, float32)"};
  EXPECT_EQ(logged("op:6", calls), expected);
  EXPECT_EQ(logged("op:5", calls), std::vector<std::string>{});
  EXPECT_EQ(logged("op:7", calls)[2],
            "op: argmax (cpu, strided, float32) of float32 [2] -> int64 []");
}

TEST(CallText, ARunNamesItsRootItsNodesAndItsLeaves) {
  const Tensor x = leaf({1.0f, 2.0f});
  const auto run = [&] { backward(sum(exp(x))); };
  const std::vector<std::string> all = logged("engine:6", run);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], "engine: backward: a run from float32 [] made by SumBackward");
  EXPECT_EQ(all[1].substr(0, 19), "engine: SumBackward");
  EXPECT_EQ(all[2].substr(0, 19), "engine: ExpBackward");
  EXPECT_EQ(all[3].substr(0, 22), "engine: AccumulateGrad");
  EXPECT_EQ(logged("engine:3", run).size(), 1u);
  EXPECT_EQ(logged("engine:2", run).size(), 0u);
}

TEST(CallText, AnErrorInAnOpIsNotLogged) {
  const Tensor x = leaf({1.0f, 2.0f}), y = leaf({1.0f, 2.0f, 3.0f});
  EXPECT_EQ(logged("op:6", [&] { EXPECT_THROW(x + y, ShapeError); }).size(), 0u);
}

}  // namespace
}  // namespace ebb
