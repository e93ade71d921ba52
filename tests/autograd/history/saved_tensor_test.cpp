// tests/autograd/history/saved_tensor_test.cpp -- what is saved, when it is freed, and stale
// values.
#include "ebb/autograd/history/saved_tensor.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/mul.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SavedTensor, IsFreedByARunThatDoesNotRetainTheGraph) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  backward(y);
  const std::string text = error_of<AutogradError>([&] { backward(y); });
  EXPECT_TRUE(contains(text, "MulBackward: needs what it saved at")) << text;
  EXPECT_TRUE(contains(text, "hint: pass retain_graph=True")) << text;
  EXPECT_EQ(floats(grad_of(x)), Floats{4});  // the failed run added nothing
}

TEST(SavedTensor, MayBeMissingWhereNothingWasSaved) {
  const Tensor x = leaf({2});
  const Tensor y = x + x;
  backward(y);
  backward(y);  // a sum saves nothing, so it can run again
  EXPECT_EQ(floats(grad_of(x)), Floats{4});
}

TEST(SavedTensor, NamesBothLinesWhenAValueWasWrittenTo) {
  const Tensor x = leaf({2});
  const Tensor factor = vector_of<float>({3});
  const Tensor y = x * factor;
  add_(factor, 1);
  const std::string text = error_of<AutogradError>([&] { backward(y); });
  EXPECT_TRUE(contains(text, "MulBackward: needs 'other' (float32 [1])")) << text;
  EXPECT_TRUE(contains(text, "modified in place by add_ at")) << text;
  EXPECT_TRUE(contains(text, "saved_tensor_test.cpp")) << text;
}

TEST(SavedTensor, IsStaleWhenAnOutputWasWrittenTo) {
  const Tensor x = leaf({1});
  const Tensor y = exp(x);
  const Tensor copy = detached(y);
  mul_(copy, 2);  // the same memory
  EXPECT_TRUE(contains(error_of<AutogradError>([&] { backward(y); }), "modified in place by mul_"));
}

TEST(SavedTensor, IsNotStaleHoweverOftenAnotherPartOfItsMemoryWasWrittenTo) {
  const Tensor x = leaf({2});
  const Tensor both = vector_of<float>({3, 4});
  const Tensor y = x * make_view(both, Shape{1}, Shape{1}, 0);
  const Tensor back = make_view(both, Shape{1}, Shape{1}, 1);
  for (int write = 0; write < 1000; ++write) fill_(back, 9);
  backward(y);
  EXPECT_EQ(floats(grad_of(x)), Floats{3});
}

TEST(SavedTensor, IsRefusedInDoubtWhenTheLogOfWritesIsFull) {
  const Tensor x = leaf({2});
  const Tensor memory = full(Shape{200}, 3.0, DType::float32);
  const Tensor y = x * make_view(memory, Shape{1}, Shape{1}, 100);
  for (LocationId line = 1; line <= 100; ++line) {  // on both sides of it, each at another line
    const LocationScope place(line);
    fill_(make_view(memory, Shape{1}, Shape{1}, line * 37 % 100 * 2 + 1), 9);
  }
  EXPECT_TRUE(contains(error_of<AutogradError>([&] { backward(y); }),
                       "modified in place by an in-place op (saved at version 0"));
}

TEST(SavedShape, HoldsSizes) {
  autograd::SavedShape saved;
  EXPECT_TRUE(saved.get().empty());
  saved.save(Shape{2, 3});
  EXPECT_EQ(Shape(saved.get()), (Shape{2, 3}));
}

}  // namespace
}  // namespace ebb
