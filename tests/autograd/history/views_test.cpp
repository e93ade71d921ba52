// tests/autograd/history/views_test.cpp -- what C++ alone sees of views: bases, lines, data that is
// exchanged, threads, long loops.
//
// That histories follow the memory is tested in tests/python/autograd/test_views*.py.
#include "ebb/autograd/history/views.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::grad_fn;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Views, ChangeTheirBaseWhenWritten) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor w = leaf({4});
  const Tensor y = x * 2;
  mul_(narrow(y, 0, 0, 1), w);
  EXPECT_EQ(floats(y), (Floats{8, 4, 6}));
  EXPECT_STREQ(grad_fn(y)->name(), "WriteToViewBackward");
  backward(sum(y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{8, 2, 2}));
  EXPECT_EQ(floats(grad_of(w)), Floats{2});
}

TEST(Views, OfViewsPointAtTheRootBase) {
  const Tensor y = leaf({1, 2, 3, 4}) * 1;
  const Tensor row = select(reshape(y, Shape{2, 2}), 0, 1);
  EXPECT_TRUE(autograd::base_of(row).is_same(y));
  EXPECT_FALSE(autograd::base_of(y).defined());
  EXPECT_FALSE(autograd::is_view(detach(row)));
}

TEST(Views, RefuseAWriteToALeafThatRequiresAGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor part = narrow(x, 0, 0, 1);
  const std::string text = error_of<AutogradError>([&] { add_(part, 1); });
  EXPECT_TRUE(has(text, "add_: a leaf that requires a gradient must not be written in place"))
      << text;
  EXPECT_TRUE(has(text, "a view of one, float32 [1] of [2], made at")) << text;
  const size_t first = text.find("views_test.cpp");
  EXPECT_TRUE(has(text.substr(first + 1), "views_test.cpp")) << text;  // both lines
  EXPECT_EQ(floats(x), (Floats{1, 2}));
}

TEST(Views, WhoseElementsShareMemoryRefuseAWrite) {
  const Tensor y = leaf({1, 2, 3}) * 1;
  const Tensor windows = as_strided(y, Shape{2, 2}, Shape{1, 1}, std::nullopt);
  EXPECT_TRUE(has(error_of<AutogradError>([&] { mul_(windows, 2); }),
                  "needs elements that share no memory"));
}

TEST(Views, RefuseToBeDetachedInPlace) {
  const Tensor y = leaf({1, 2}) * 1;
  const Tensor part = narrow(y, 0, 0, 1);
  EXPECT_TRUE(has(error_of<AutogradError>([&] { detach_(part); }),
                  "detach_: needs a tensor that is no view, got a view of shape [1]"));
  cut_history(part);
  EXPECT_TRUE(is_leaf(part) && !part.requires_grad() && !autograd::is_view(part));
}

TEST(Views, AreNoViewsAnyMoreOnceTheyHaveOtherData) {
  const Tensor x = leaf({2});
  const Tensor base = zeros(Shape{2});
  const Tensor part = narrow(base, 0, 0, 1);
  set_data(part, vector_of<float>({5}));
  EXPECT_FALSE(autograd::is_view(part));
  mul_(part, x);
  EXPECT_FALSE(base.requires_grad());
  backward(part);
  EXPECT_EQ(floats(grad_of(x)), Floats{5});
}

TEST(Views, LeaveABaseThatWasGivenOtherData) {
  const Tensor x = leaf({2});
  const Tensor base = zeros(Shape{2});
  const Tensor part = narrow(base, 0, 0, 1);
  set_data(base, zeros(Shape{2}));
  add_(base, x);
  EXPECT_FALSE(part.requires_grad());
}

TEST(Views, RefuseToBeTheGradientOfTheirBase) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of<ValueError>([&] { set_grad(x, reshape(x, Shape{2})); }),
            "grad: needs another tensor, got a view of the tensor itself");
}

TEST(Views, AreSettledByThreadsThatReadThemTogether) {
  const Tensor x = leaf({1, 2, 3});
  for (int round = 0; round < 50; ++round) {
    const Tensor y = x * 2;
    const Tensor total = zeros(Shape{3});
    const Tensor recorded = narrow(y, 0, 1, 2);
    const Tensor plain = narrow(total, 0, 1, 2);
    mul_(y, 5);
    add_(total, x);
    std::vector<std::thread> readers;
    std::vector<Tensor> results(4);
    for (size_t at = 0; at < results.size(); ++at) {
      readers.emplace_back([&, at] { results[at] = recorded * plain; });
    }
    for (std::thread& reader : readers) reader.join();
    for (const Tensor& result : results) {
      const Tensor seed = ones(Shape{2});
      const Tensor first = grad(std::span(&result, 1), std::span(&x, 1), std::span(&seed, 1),
                                {.retain_graph = true})[0];
      ASSERT_EQ(floats(first), (Floats{0, 40, 60}));
    }
  }
}

TEST(Views, LetALoopThatWritesLookAtEachNodeOnce) {
  // Every step's operand leads back to all steps before: a walk from each would take quadratic
  // time, minutes for so many.
  const Tensor x = leaf({1});
  const Tensor total = x * 1;
  const Tensor saved = total * total;  // saves it as it is
  Tensor state = x;
  for (int step = 0; step < 100'000; ++step) {
    state = state * 1.0;
    add_(total, state);
  }
  backward(total);
  EXPECT_EQ(floats(grad_of(x)), Floats{100'001});
}

}  // namespace
}  // namespace ebb
