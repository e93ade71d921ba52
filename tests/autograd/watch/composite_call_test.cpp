// tests/autograd/watch/composite_call_test.cpp -- errors of ops that are made of others name them.
#include "ebb/autograd/watch/composite_call.h"

#include <gtest/gtest.h>

#include <string>

#include "ebb/core/base/error.h"
#include "tests/autograd/graph_support.h"
#include "tests/composite_calls.h"

namespace ebb {
namespace {

/// Tensors that fit hardly any op.
std::vector<Tensor> misfits() {
  return {Tensor(), zeros(Shape{}), zeros(Shape{0}, DType::int64),
          zeros(Shape{2, 1, 3}, DType::boolean), zeros(Shape{1, 2}, DType::complex64)};
}

/// What a call says if it fails, or nothing.
std::string error_text(const CompositeCallRow& row, const Tensor& tensor) {
  try {
    row.call(tensor);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CompositeCall, NamesEachOpThatIsMadeOfOthers) {
  for (const CompositeCallRow& row : kCompositeCalls) {
    for (const Tensor& tensor : misfits()) {
      const std::string text = error_text(row, tensor);
      if (text.empty() && tensor.defined()) continue;  // it fits
      EXPECT_TRUE(text.starts_with(std::string(row.name) + ": ")) << row.name << " says: " << text;
    }
  }
}

TEST(CompositeCall, TellsTheNameOfAMissingKernelBehindItsOwn) {
  const CallName outer("outer");
  const CallName inner("inner");
  EXPECT_STREQ(ShapeError("add: bad").what(), "outer: bad");
  EXPECT_STREQ(ValueError("no name").what(), "outer: no name");
  EXPECT_STREQ(NotImplementedError("add: bad").what(), "outer: in add, bad");
  EXPECT_STREQ(NonFiniteError("add: bad").what(), "add: bad");
  const CallName nobody(nullptr);
  EXPECT_STREQ(ShapeError("add: bad").what(), "add: bad");
}

TEST(CompositeCall, NamesNobodyAfterwards) {
  EXPECT_THROW(hardsigmoid(Tensor()), Error);
  EXPECT_STREQ(ShapeError("add: bad").what(), "add: bad");
}

}  // namespace
}  // namespace ebb
