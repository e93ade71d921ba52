// tests/autograd/history/error_names_test.cpp -- errors name tensors and the lines of a C++
// program.
//
// Each row of kFaults is a fault that two tensors can make, told with and without their names; it
// notes the lines that its message must name. Faults that name no line, and more that do, are in
// tests/python/package/test_error_names.py.
#include <gtest/gtest.h>

#include <string>

#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/watch/checks.h"
#include "ebb/core/base/error.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

/// Lines of this file, for "{0}" and "{1}" in a row's texts.
using Lines = int[2];

void write_what_was_saved(const Tensor& x, const Tensor& w, Lines& at) {
  at[0] = __LINE__ + 1;
  const Tensor product = mul(x, w);
  {
    const NoGradGuard guard;
    at[1] = __LINE__ + 1;
    add_(w, 1.0);
    EXPECT_EQ(w.version(), 1u);
  }
  backward(sum(product));
}

void run_twice(const Tensor& x, const Tensor& w, Lines& at) {
  at[0] = __LINE__ + 1;
  const Tensor product = mul(x, w);
  const Tensor loss = sum(product);
  at[1] = __LINE__ + 1;
  backward(loss);
  backward(loss);
}

void compute_nan(const Tensor&, const Tensor& w, Lines& at) {
  const CheckNanInfGuard guard;
  const Tensor low = sub(w, 1.5);
  at[0] = __LINE__ + 1;
  const Tensor bad = log(low);
}

struct Fault {
  const char* what;
  void (*make)(const Tensor& x, const Tensor& w, Lines& at);
  const char* with_names;
  const char* without;
};

// clang-format off
const Fault kFaults[] = {
    {"write_saved", write_what_was_saved, "MulBackward: needs 'other' (float32 [2] named 'w') as "
     "it was when saved at {0}", "needs 'other' (float32 [2]) as it was when saved at {0}"},
    {"write_line", write_what_was_saved, "got it modified in place by add_ at {1}",
     "got it modified in place by add_ at {1}"},
    {"run_twice", run_twice, "MulBackward: needs what it saved from 'x' and 'w' at {0}",
     "MulBackward: needs what it saved at {0}"},
    {"first_run", run_twice, "got it freed by the run at {1}", "got it freed by the run at {1}"},
    {"nan", compute_nan, "log: the result (float32 [2]) must be finite, got 1 nan in 2 elements",
     "\n  at {0}"},
};
// clang-format on

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.what; }

class ErrorNames : public testing::TestWithParam<Fault> {
 protected:
  /// The text of the fault's error; fills in the lines.
  std::string message(bool has_names) {
    const Tensor x = leaf({3, 4}), w = leaf({1, 2});
    set_name(x, has_names ? "x" : "");
    set_name(w, has_names ? "w" : "");
    try {
      GetParam().make(x, w, lines_);
    } catch (const Error& error) {
      return without_folders(error.what());
    }
    return "no error";
  }
  /// The text without what comes before this file's name in a path.
  static std::string without_folders(std::string text) {
    const std::string file = "error_names_test.cpp";
    for (size_t at = text.find(file); at != text.npos; at = text.find(file, at + 1)) {
      const size_t start = text.rfind(' ', at) + 1;
      text.erase(start, at - start);
      at = start;
    }
    return text;
  }
  std::string filled(std::string text) const {
    for (int index = 0; index < 2; ++index) {
      const size_t hole = text.find(str('{', index, '}'));
      if (hole != text.npos)
        text.replace(hole, 3, str("error_names_test.cpp:", lines_[index], " in "));
    }
    return text;
  }

 private:
  Lines lines_ = {};
};

TEST_P(ErrorNames, SayWhichOpTensorAndLines) {
  const std::string text = message(true);
  EXPECT_NE(text.find(filled(GetParam().with_names)), text.npos) << text;
}

TEST_P(ErrorNames, SayTheRestOfUnnamedTensors) {
  const std::string text = message(false);
  EXPECT_NE(text.find(filled(GetParam().without)), text.npos) << text;
  EXPECT_EQ(text.find("named"), text.npos) << text;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ErrorNames, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(TensorName, IsGivenReadAndTakenAway) {
  const Tensor x = vector_of<float>({1, 2});
  EXPECT_EQ(name_of(x), "");
  set_name(x, "");
  EXPECT_EQ(x.impl()->meta, nullptr);  // nothing is kept for a tensor that never had a name
  set_name(x, "x");
  EXPECT_EQ(name_of(x), "x");
  EXPECT_EQ(describe_tensor(x), "float32 [2] named 'x'");
  set_name(x, "");
  EXPECT_EQ(describe_tensor(x), "float32 [2]");
  EXPECT_EQ(name_of(Tensor()), "");
  EXPECT_THROW(set_name(Tensor(), "x"), ValueError);
}

TEST(TensorName, StaysWithTheTensorWhateverItBecomes) {
  const Tensor x = vector_of<float>({1, 2});
  set_name(x, "x");
  requires_grad_(x);
  EXPECT_EQ(name_of(x), "x");
  requires_grad_(x, false);
  mul_(x, leaf({1, 2}));
  EXPECT_EQ(name_of(x), "x");
  EXPECT_EQ(autograd::title_of(*autograd::grad_fn(x)), "MulBackward of 'x'");
  detach_(x);
  EXPECT_EQ(name_of(x), "x");
}

TEST(TensorName, OfAViewIsThatOfItsBase) {
  const Tensor x = vector_of<float>({1, 2});
  set_name(x, "x");
  EXPECT_EQ(describe_tensor(select(x, 0, 1)), "float32 [] viewing 'x'");
  EXPECT_EQ(name_of(select(x, 0, 1)), "");
  EXPECT_EQ(name_of(detach(x)), "");
  EXPECT_EQ(name_of(clone(x)), "");
}

TEST(TensorName, OfAResultOutlivesTheTensor) {
  const Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  set_name(y, "y");
  const Tensor loss = sum(y);
  y = {};
  autograd::Node& made = *autograd::grad_fn(loss)->edges()[0].node;
  EXPECT_EQ(autograd::title_of(made), "ExpBackward of 'y'");
}

TEST(TensorName, IsThePathOfAModulesTensorIfItHasNoOther) {
  const Tensor x = leaf({1, 2});
  autograd::set_module_path(x, "layers.0.weight");
  EXPECT_EQ(name_of(x), "");
  EXPECT_EQ(describe_tensor(x), "float32 [2] named 'layers.0.weight'");
  set_name(x, "w");
  EXPECT_EQ(describe_tensor(x), "float32 [2] named 'w'");
}

}  // namespace
}  // namespace ebb
