// tests/autograd/history/views_test.cpp -- views and in-place writes: histories follow the memory.
#include "ebb/autograd/history/views.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unbind.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb {
namespace {

using autograd::grad_fn;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Views, FollowAWriteToTheirBase) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  const Tensor part = narrow(y, 0, 1, 2);
  mul_(y, 5);
  EXPECT_STREQ(grad_fn(part)->name(), "AsStridedBackward");
  backward(sum(part));
  EXPECT_EQ(floats(grad_of(x)), (Floats{0, 10, 10}));
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

TEST(Views, GetAHistoryThatTheirBaseGetsLater) {
  const Tensor x = leaf({3});
  const Tensor total = zeros(Shape{2});
  const Tensor part = narrow(total, 0, 1, 1);
  EXPECT_FALSE(part.requires_grad());
  add_(total, x);
  EXPECT_TRUE(part.requires_grad());
  backward(part * 7);
  EXPECT_EQ(floats(grad_of(x)), Floats{7});
}

TEST(Views, GiveAPlainBaseAHistory) {
  const Tensor x = leaf({3});
  const Tensor total = zeros(Shape{2});
  const Tensor part = narrow(total, 0, 1, 1);
  const Tensor other = reshape(total, Shape{2, 1});
  copy_(part, x);
  EXPECT_TRUE(total.requires_grad() && part.requires_grad() && other.requires_grad());
  backward(sum(other * other));
  EXPECT_EQ(floats(grad_of(x)), Floats{6});
}

TEST(Views, PassTheGradientOfAConstantToNobody) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  fill_(narrow(y, 0, 1, 1), 9);
  backward(sum(y * y));
  EXPECT_EQ(floats(grad_of(x)), (Floats{8, 0, 24}));
}

TEST(Views, ThatOneOpMadeTogetherMayBeWritten) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * 2;
  const std::vector<Tensor> parts = unbind(y, 0);
  mul_(parts[2], 10);
  mul_(parts[2], parts[0]);
  backward(y, ones(Shape{3}));
  EXPECT_EQ(floats(grad_of(x)), (Floats{2 + 2 * 60, 2, 40}));
  EXPECT_TRUE(parts[1].requires_grad());
}

TEST(Views, OfABaseInAnotherOrderOfMemoryMayBeWritten) {
  const Tensor x = leaf({5});
  const Tensor base = detach(transpose(count_up({2, 3}), 0, 1));  // [3, 2], columns first
  mul_(select(base, 0, 1), x);
  EXPECT_EQ(floats(base), (Floats{0, 3, 5, 20, 2, 5}));
  backward(sum(base));
  EXPECT_EQ(floats(grad_of(x)), Floats{5});
}

TEST(Views, HaveASecondDerivativeThroughAWrite) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x;
  mul_(narrow(y, 0, 0, 1), narrow(x, 0, 0, 1));  // x0^3, x1^2
  const Tensor total = sum(y);
  const Tensor first = grad(std::span(&total, 1), std::span(&x, 1), {}, {.create_graph = true})[0];
  EXPECT_EQ(floats(first), (Floats{12, 6}));
  backward(sum(first));
  EXPECT_EQ(floats(grad_of(x)), (Floats{12, 2}));
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

TEST(Views, OfALeafMayBeWrittenUnderNoGrad) {
  const Tensor x = leaf({1, 2});
  const NoGradGuard guard;
  fill_(narrow(x, 0, 0, 1), 9);
  EXPECT_EQ(floats(x), (Floats{9, 2}));
}

TEST(Views, MadeUnderNoGradRefuseAWriteWithAGradient) {
  const Tensor x = leaf({2});
  const Tensor base = zeros(Shape{3});
  Tensor part;
  {
    const NoGradGuard guard;
    part = narrow(base, 0, 0, 2);
  }
  const Tensor inner = narrow(part, 0, 0, 1);  // inherits it
  for (const Tensor& one : {part, inner}) {
    const std::string text = error_of<AutogradError>([&] { mul_(one, x); });
    EXPECT_TRUE(has(text, "got a view made under no_grad")) << text;
    EXPECT_TRUE(has(text, "views_test.cpp")) << text;
  }
  mul_(part, 3);  // involves no gradient
}

TEST(Views, MadeUnderNoGradRefuseToBeUsedAfterTheirBaseGotAHistory) {
  const Tensor x = leaf({2});
  const Tensor base = zeros(Shape{3});
  Tensor part;
  {
    const NoGradGuard guard;
    part = narrow(base, 0, 0, 2);
  }
  add_(base, x);
  const std::string text = error_of<AutogradError>([&] { static_cast<void>(part * 2); });
  EXPECT_TRUE(has(text, "the memory of a view made under no_grad at")) << text;
  const NoGradGuard guard;
  EXPECT_EQ(floats(part * 2), (Floats{4, 4}));
}

TEST(Views, ReturnedByACustomFunctionRefuseAWrite) {
  const Tensor y = leaf({1, 2}) * 1;
  const Tensor part = narrow(y, 0, 0, 1);
  autograd::mark_creation(part, Creation::custom_function);
  const std::string text = error_of<AutogradError>([&] { mul_(part, 2); });
  EXPECT_TRUE(has(text, "got a view returned by a custom Function")) << text;
  mul_(y, 2);
  EXPECT_TRUE(has(error_of<AutogradError>([&] { static_cast<void>(part * 2); }),
                  "must not be written with a gradient before the view is used"));
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

TEST(Views, KeepTheirHistoryWhenTheirBaseIsDetachedUntilItIsWritten) {
  const Tensor y = leaf({1, 2}) * 1;
  const Tensor part = narrow(y, 0, 0, 1);
  detach_(y);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_STREQ(grad_fn(part)->name(), "IndexBoxBackward");
  fill_(y, 3);
  EXPECT_EQ(grad_fn(part), nullptr);
  EXPECT_FALSE(part.requires_grad());
}

TEST(Views, MayBecomeLeavesOfTheirOwn) {
  const Tensor base = zeros(Shape{3});
  const Tensor part = requires_grad_(narrow(base, 0, 0, 2));
  const Tensor x = leaf({1});
  add_(base, x);  // moves the values of the leaf, as under no_grad
  EXPECT_TRUE(is_leaf(part));
  backward(sum(part * 2));
  EXPECT_EQ(floats(grad_of(part)), (Floats{2, 2}));
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

TEST(Views, MoveARequestToKeepTheGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  const Tensor part = narrow(y, 0, 0, 1);
  retain_grad(part);
  retain_grad(y);
  mul_(part, 5);
  backward(sum(y * part));
  EXPECT_EQ(floats(grad_of(part)), Floats{15 + 6});  // y0 + y1, by this use of the view only
  EXPECT_EQ(floats(grad_of(y)), (Floats{15 + 21, 15}));
}

TEST(Views, RefuseToBeTheGradientOfTheirBase) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of<ValueError>([&] { set_grad(x, reshape(x, Shape{2})); }),
            "grad: needs another tensor, got a view of the tensor itself");
}

TEST(Views, ThatAGradientPassedAreGradientsWithoutABase) {
  const Tensor x = requires_grad_(ones(Shape{2, 2}));
  const Tensor w = leaf({2});
  backward(sum(reshape(transpose(x, 0, 1), Shape{4})));
  EXPECT_FALSE(autograd::is_view(grad_of(x)));
  const Tensor total = sum(reshape(x, Shape{4}) * 2);
  const Tensor first = grad(std::span(&total, 1), std::span(&x, 1), {}, {})[0];
  mul_(first, w);  // no view made under no_grad
  EXPECT_TRUE(first.requires_grad());
}

TEST(Views, SavedEarlierAreNotStaleWhenAnotherPartIsWritten) {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * 2;
  const Tensor front = narrow(y, 0, 0, 1);
  const Tensor square = front * front;
  fill_(narrow(y, 0, 1, 1), 0);
  backward(square);
  EXPECT_EQ(floats(grad_of(x)), (Floats{16, 0}));
  const Tensor z = x * 2;
  const Tensor whole = narrow(z, 0, 0, 2) * narrow(z, 0, 0, 2);
  fill_(narrow(z, 0, 1, 1), 0);
  EXPECT_THROW(backward(sum(whole)), AutogradError);
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

TEST(Views, CloseNoCycle) {
  const Tensor x = leaf({1, 2, 3});
  const auto program = [&] {
    const Tensor y = x * 1;
    const Tensor part = narrow(y, 0, 0, 2);
    const Tensor square = part * part;
    const Tensor all = y * y;  // saves the base as it is
    add_(part, square);
    add_(narrow(y, 0, 1, 2), narrow(all, 0, 1, 2));
    retain_grad(part);
    const Tensor total = sum(y) + sum(part);
    grad(std::span(&total, 1), std::span(&x, 1), {}, {.allow_unused = true});
  };
  EXPECT_THROW(program(), AutogradError);  // `square` saved what was written
  const auto quiet = [&] {
    try {
      program();
    } catch (const AutogradError&) {
    }
  };
  quiet();
  const int64_t before = memory_stats().live;
  for (int step = 0; step < 100; ++step) quiet();
  EXPECT_EQ(memory_stats().live, before);
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
