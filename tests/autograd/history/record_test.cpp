// tests/autograd/history/record_test.cpp -- what recording an op leaves behind.
#include "ebb/autograd/history/record.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::grad_fn;
using autograd::Node;

TEST(Record, GivesATensorAutogradStateOnlyWhenItIsNeeded) {
  const Tensor plain = vector_of<float>({1});
  const Tensor x = leaf({1});
  {
    const NoGradGuard guard;
    const Tensor untracked = x * plain;
    EXPECT_EQ(untracked.impl()->meta, nullptr);
    EXPECT_EQ(untracked.impl()->producer, nullptr);
  }
  const Tensor y = x * plain;
  EXPECT_EQ(plain.impl()->meta, nullptr);
  EXPECT_EQ(y.impl()->meta, nullptr);  // its node is enough
  EXPECT_NE(y.impl()->producer, nullptr);
  retain_grad(y);
  EXPECT_NE(y.impl()->meta, nullptr);
}

/// How often `body` asks for memory.
template <typename Body>
int64_t allocations_of(Body&& body) {
  fail_allocation_after(1 << 20);
  const int64_t before = allocation_count();
  body();
  const int64_t count = allocation_count() - before;
  fail_allocation_after(-1);
  return count;
}

TEST(Record, TakesOneAllocationForANodeWithItsEdgesAndMetadata) {
  const Tensor x = leaf({1}), plain = vector_of<float>({1});
  const auto add_twice = [](const Tensor& one) { static_cast<void>(one + one); };
  EXPECT_EQ(allocations_of([&] { add_twice(x); }), allocations_of([&] { add_twice(plain); }) + 1);
  const std::vector<Tensor> few(2, x), many(20, x);
  EXPECT_EQ(allocations_of([&] { static_cast<void>(cat(few, 0)); }),
            allocations_of([&] { static_cast<void>(cat(many, 0)); }));
}

TEST(Record, NumbersNodesSoThatTheyFallAlongEveryEdge) {
  Tensor value = leaf({1});
  for (int step = 0; step < 3000; ++step) value = value * 1.0;
  for (const Node* node = grad_fn(value); !node->is_accumulator(); node = node->edges()[0].node) {
    ASSERT_GT(node->sequence(), node->edges()[0].node->sequence());
  }
}

TEST(Record, NumbersNodesSoAcrossThreads) {
  Tensor value = leaf({1});
  for (int round = 0; round < 50; ++round) {
    std::thread([&] { value = value * 1.0; }).join();
    const uint64_t other = grad_fn(value)->sequence();
    value = value * 1.0;
    ASSERT_GT(grad_fn(value)->sequence(), other);
  }
}

TEST(Record, NotesTheLine) {
  const Tensor x = leaf({1});
  const Tensor y = x * 2;
  const SourceLocation place = describe_location(grad_fn(y)->location());
  EXPECT_NE(place.file.find("record_test.cpp"), std::string::npos) << to_string(place);
}

TEST(Variable, RefusesGradientsThatDoNotFit) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of<ShapeError>([&] { set_grad(x, vector_of<float>({1})); }),
            "grad: needs the tensor's shape [2], got [1]");
  EXPECT_EQ(error_of<DTypeError>([&] {
              set_grad(x, vector_of<double>({1, 2}));
            }),
            "grad: needs the tensor's dtype float32, got float64");
  EXPECT_EQ(error_of<DTypeError>([] { requires_grad_(vector_of<int64_t>({1})); }),
            "requires_grad_: needs a floating or complex dtype, got int64");
}

TEST(Variable, RefusesToBeUndefined) {
  const std::string text = "tensor: needs a defined tensor, got an undefined one";
  EXPECT_EQ(error_of<ValueError>([] { requires_grad_(Tensor(), true); }), text);
  EXPECT_EQ(error_of<ValueError>([] { requires_grad_(Tensor(), false); }), text);
  EXPECT_EQ(error_of<ValueError>([] { set_data(leaf({1}), Tensor()); }), text);
  EXPECT_EQ(error_of<ValueError>([] { set_grad(Tensor(), Tensor()); }),
            "grad: needs a defined tensor, got an undefined one");
  EXPECT_THROW(retain_grad(Tensor()), AutogradError);
}

TEST(Variable, RefusesDataThatHistoryDoesNotFit) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of<ShapeError>([&] { set_data(x * x, vector_of<float>({1})); }),
            "data: needs float32 [2], got float32 [1]\n"
            "hint: what has history keeps its shape");
  EXPECT_EQ(error_of<DTypeError>([&] {
              set_data(x, vector_of<int64_t>({1, 2}));
            }),
            "data: needs float32 [2], got int64 [2]");
}

TEST(Variable, ExchangesItsDataUnderTheHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor before = x * x;
  set_data(x, vector_of<float>({5, 6}));
  EXPECT_EQ(floats(x), (Floats{5, 6}));
  backward(sum(before));
  EXPECT_EQ(floats(grad_of(x)), (Floats{2, 4}));  // what was saved is the old data
}

}  // namespace
}  // namespace ebb
