// tests/autograd/engine/scratch_test.cpp -- numbers of runs, whose nodes are whose, and what a run
// does when no number is left.
#include "ebb/autograd/engine/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "ebb/autograd/history/gradients/gradient_math.h"
#include "tests/autograd/graph_support.h"

namespace ebb::autograd {
namespace {

/// A number that others may take nodes beside.
std::unique_ptr<RunNumber> open_number() {
  auto number = std::make_unique<RunNumber>();
  number->unlock();
  return number;
}

TEST(TakingLock, IsHeldByOneThreadHoweverLong) {
  TakingLock lock;
  std::atomic<bool> is_inside = false;
  lock.lock();
  std::thread other([&] {
    const std::lock_guard held(lock);
    is_inside = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it yields first, then sleeps
  EXPECT_FALSE(is_inside);
  lock.unlock();
  other.join();
  EXPECT_TRUE(is_inside);
  lock.lock();  // nobody has it any more
  lock.unlock();
}

TEST(RunNumber, TellsOtherRunsFromItself) {
  const auto first = open_number();
  EXPECT_FALSE(first->has_others());
  const auto second = open_number();
  EXPECT_TRUE(second->has_others());
  EXPECT_NE(first->get(), second->get());
  EXPECT_TRUE(second->is_of_other(first->get()));
  EXPECT_FALSE(second->is_of_other(second->get()));
  EXPECT_FALSE(second->is_of_other(0));  // fresh nodes
}

TEST(RunNumber, IsNobodysOnceTheRunHasEnded) {
  const auto first = open_number();
  uint32_t ended = 0;
  {
    const auto other = open_number();
    ended = other->get();
    EXPECT_TRUE(first->is_of_other(ended));
  }
  EXPECT_FALSE(first->is_of_other(ended));
  EXPECT_NE(open_number()->get(), ended);
}

TEST(RunNumber, SkipsTheNumberOfFreshNodes) {
  run_table.last_number = UINT32_MAX;
  EXPECT_EQ(open_number()->get(), 1u);
  EXPECT_EQ(open_number()->get(), 2u);
}

TEST(RunNumber, TakesAPlaceThatWasLeft) {
  std::vector<std::unique_ptr<RunNumber>> numbers;
  for (int count = 0; count < 3; ++count) numbers.push_back(open_number());
  const int used = run_table.used_places;
  numbers[1].reset();
  numbers[1] = open_number();
  EXPECT_EQ(run_table.used_places, used);
  EXPECT_TRUE(numbers[1]->has_others());
}

TEST(RunNumber, ARunBeyondTheMostHasNoneAndIsRightAllTheSame) {
  std::vector<std::unique_ptr<RunNumber>> numbers;
  for (int count = 0; count < RunTable::kMostRuns; ++count) {
    numbers.push_back(open_number());
    ASSERT_NE(numbers.back()->get(), 0u);
  }
  EXPECT_EQ(open_number()->get(), 0u);
  const Tensor x = leaf({3});
  backward(x * x);
  EXPECT_EQ(floats(grad_of(x)), Floats{6});
  numbers.clear();
  const auto alone = open_number();
  EXPECT_NE(alone->get(), 0u);
  EXPECT_FALSE(alone->has_others());
}

/// A node with an edge to another, as recorded.
struct Pair {
  NodePtr<Node> behind{make_node<RuleBackward>(1, 1, 0).leak()};
  NodePtr<Node> root{make_node<RuleBackward>(1, 1, 0).leak()};

  Pair() {
    behind->retain();
    root->edges()[0] = {behind.get(), 0, 0};
  }
};

TEST(NodeScratch, VisitsANodeOnceAndFindsItsStateBlank) {
  const Pair nodes;
  const auto number = open_number();
  NodeScratch scratch(number.get());
  EXPECT_FALSE(scratch.is_visited(*nodes.root));
  EXPECT_TRUE(scratch.visit(*nodes.root));
  scratch.state(*nodes.root) = 7;
  EXPECT_FALSE(scratch.visit(*nodes.root));
  EXPECT_EQ(scratch.state(*nodes.root), 7u);
  EXPECT_TRUE(scratch.is_visited(*nodes.root));
  const auto later = open_number();
  NodeScratch next(later.get());
  EXPECT_TRUE(next.visit(*nodes.root));
  EXPECT_EQ(next.state(*nodes.root), 0u);
}

TEST(NodeScratch, SeesThatAnotherRunInProgressHasANode) {
  const Pair nodes;
  auto first = open_number();
  NodeScratch(first.get()).visit(*nodes.root);
  const auto second = open_number();
  const NodeScratch scratch(second.get());
  EXPECT_TRUE(scratch.is_taken(*nodes.root));
  EXPECT_FALSE(scratch.is_taken(*nodes.behind));
  EXPECT_FALSE(NodeScratch(first.get()).is_taken(*nodes.root));
  first.reset();
  EXPECT_FALSE(scratch.is_taken(*nodes.root));
}

/// After forget_all(): which nodes were seen, with which state, and what is left in their slots.
template <typename Scratch>
void forget_and_check(Scratch& scratch, const Pair& nodes) {
  for (const auto* node : {&nodes.root, &nodes.behind}) {
    scratch.visit(**node);
    scratch.state(**node) = node == &nodes.root ? 1 : 2;
  }
  const Tensor grad = vector_of<float>({1});
  scratch.slots(*nodes.behind)[0] = Tensor(grad).leak();
  EXPECT_FALSE(is_private(grad));
  uint32_t seen = 0;
  const Root root{nodes.root, 0, Tensor()};
  scratch.forget_all(std::span(&root, 1),
                     [&](const Node&, uint32_t state) { seen = 10 * seen + state; });
  EXPECT_TRUE(seen == 12 || seen == 21) << seen;
  EXPECT_TRUE(is_private(grad));
}

TEST(NodeScratch, ForgetsAllNodesOfAFailedRunAndFreesTheirGradients) {
  const Pair nodes;
  const auto number = open_number();
  NodeScratch scratch(number.get());
  forget_and_check(scratch, nodes);
  EXPECT_FALSE(scratch.is_visited(*nodes.root));
  EXPECT_FALSE(scratch.is_visited(*nodes.behind));
}

TEST(MapScratch, ForgetsAllNodesOfAFailedRunAndFreesTheirGradients) {
  const Pair nodes;
  MapScratch scratch(nullptr);
  EXPECT_FALSE(scratch.is_visited(*nodes.root));
  EXPECT_FALSE(scratch.is_taken(*nodes.root));
  forget_and_check(scratch, nodes);
}

}  // namespace
}  // namespace ebb::autograd
