// tests/autograd/engine/board_test.cpp -- what lanes of a crew leave on their board, and who gets
// it.
#include "ebb/autograd/engine/board.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "ebb/autograd/engine/pacer.h"
#include "tests/autograd/graph_support.h"

namespace ebb::autograd {
namespace {

constexpr size_t kCallers = 0, kWorkers = 1;  // numbers of lists

/// A node that is recorded after those before it.
NodePtr<Node> new_node(size_t edges = 1) {
  auto node = make_node<RuleBackward>(edges, 1, 0);
  NodeAccess::number(*node, 0, 0);
  return NodePtr<Node>(node.leak());
}

template <typename Error>
void fail_with(Board& board, uint64_t sequence, Error error) {
  try {
    throw error;
  } catch (...) {
    board.fail(sequence);
  }
}

std::string thrown_by(Board& board) {
  try {
    board.rethrow();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Board, LetsNobodyJoinWhoComesAfterTheStop) {
  Board board;
  board.stop();
  EXPECT_FALSE(board.join());
}

TEST(Board, LetsNobodyJoinOnceTheCallerHasLeft) {
  Board board;
  ASSERT_TRUE(board.join());
  EXPECT_TRUE(board.is_alone());
  board.leave(LaneRole::caller);
  EXPECT_FALSE(board.join());
}

TEST(Board, GoesOnWithoutAHelperThatLeaves) {
  Board board;
  ASSERT_TRUE(board.join());
  ASSERT_TRUE(board.join());
  EXPECT_FALSE(board.is_alone());
  board.leave(LaneRole::helper);
  EXPECT_TRUE(board.is_alone());
  EXPECT_TRUE(board.join());
}

TEST(Board, ThrowsTheErrorOfTheNodeThatOneThreadRunsFirst) {
  for (const bool is_first_late : {false, true}) {
    Board board;
    fail_with(board, is_first_late ? 3 : 5, std::runtime_error(is_first_late ? "3" : "5"));
    fail_with(board, is_first_late ? 5 : 3, std::runtime_error(is_first_late ? "5" : "3"));
    EXPECT_TRUE(board.stops());
    EXPECT_EQ(thrown_by(board), "5");
  }
}

TEST(Board, OfTwoErrorsOfOneNodeThrowsTheFirst) {
  Board board;
  fail_with(board, 5, std::runtime_error("first"));
  fail_with(board, 5, std::runtime_error("second"));
  EXPECT_EQ(thrown_by(board), "first");
}

TEST(Board, AnErrorCountsMoreThanTheNewsOfOthers) {
  Board board;
  fail_with(board, 9, RunStopped());
  fail_with(board, 1, std::runtime_error("own"));
  fail_with(board, 10, RunStopped());
  EXPECT_EQ(thrown_by(board), "own");
}

TEST(Board, ThrowsWhatItNotedOnce) {
  Board board;
  EXPECT_EQ(thrown_by(board), "nothing");
  fail_with(board, 1, std::runtime_error("once"));
  EXPECT_EQ(thrown_by(board), "once");
  EXPECT_EQ(thrown_by(board), "nothing");
}

TEST(Board, OpensAgainAfterAStopButNotAfterAFailure) {
  Board stopped, failed, over;
  EXPECT_FALSE(stopped.reopen());  // nobody stopped it
  stopped.stop();
  EXPECT_TRUE(stopped.reopen());
  EXPECT_TRUE(stopped.join());
  fail_with(failed, 1, std::runtime_error("error"));
  EXPECT_FALSE(failed.reopen());
  over.leave(LaneRole::caller);
  over.stop();
  EXPECT_TRUE(over.reopen());
  EXPECT_TRUE(over.join());
}

TEST(Board, GivesTheCallerLeavesFirstThenItsListThenWhatItOffered) {
  Board board;
  ASSERT_TRUE(board.join());
  const auto leaf = new_node(0), early = new_node(), late = new_node(), offered = new_node();
  board.offer(offered.get());
  for (const auto* node : {&early, &late, &leaf}) EXPECT_FALSE(board.push(kCallers, node->get()));
  for (const auto* node : {&leaf, &late, &early, &offered}) {
    EXPECT_EQ(board.take(LaneRole::caller, kCallers), node->get());
  }
  EXPECT_EQ(board.take(LaneRole::caller, kCallers), nullptr);  // nobody is at work
  EXPECT_FALSE(board.join());                                  // so it is over
}

TEST(Board, AsksForAWorkerOnlyWhileItIsAway) {
  Board board(1);
  ASSERT_TRUE(board.join());
  const auto first = new_node(), second = new_node();
  EXPECT_TRUE(board.push(kWorkers, first.get()));
  EXPECT_FALSE(board.push(kWorkers, second.get()));
  EXPECT_FALSE(board.is_alone());
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), second.get());
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), first.get());
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), nullptr);
  EXPECT_TRUE(board.is_alone());
  EXPECT_TRUE(board.push(kWorkers, first.get()));
}

TEST(Board, AWorkerLeavesItsListWhereAllAreStopped) {
  Board board(1);
  const auto node = new_node();
  board.push(kWorkers, node.get());
  board.stop();
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), nullptr);
  EXPECT_EQ(board.take_all(), std::vector{node.get()});
}

TEST(Board, GivesBackAllThatNobodyTook) {
  Board board(1);
  const auto aside = new_node(), offered = new_node(), leaf = new_node(0);
  const auto listed = new_node(), workers = new_node();
  board.set_aside(aside.get());
  board.offer(offered.get());
  board.push(kCallers, leaf.get());
  board.push(kCallers, listed.get());
  board.push(kWorkers, workers.get());
  const std::vector<Node*> all = {aside.get(), offered.get(), leaf.get(), listed.get(),
                                  workers.get()};
  EXPECT_EQ(board.take_all(), all);
  EXPECT_TRUE(board.take_all().empty());
}

TEST(Board, LooksAsFarAsTheLatestNodeThatMaySend) {
  Board board(1);
  ASSERT_TRUE(board.join());
  EXPECT_EQ(board.horizon(), 0u);
  const auto early = new_node(), late = new_node();
  board.push(kCallers, early.get());
  EXPECT_EQ(board.horizon(), early->sequence());
  board.push(kWorkers, late.get());
  EXPECT_EQ(board.horizon(), late->sequence());
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), late.get());
  EXPECT_EQ(board.horizon(), late->sequence());  // it runs
  EXPECT_EQ(board.take(LaneRole::worker, kWorkers), nullptr);
  EXPECT_EQ(board.horizon(), early->sequence());
  EXPECT_EQ(board.take(LaneRole::caller, kCallers), early.get());
  EXPECT_EQ(board.horizon(), early->sequence());
  EXPECT_EQ(board.take(LaneRole::caller, kCallers), nullptr);
  EXPECT_EQ(board.horizon(), 0u);
}

TEST(Board, GivesAWaitingHelperWhatIsOfferedAndNobodyElseIsWanted) {
  Board board;
  ASSERT_TRUE(board.join());
  EXPECT_FALSE(board.is_wanted());
  const auto node = new_node();
  Node* taken = nullptr;
  std::thread helper([&] {
    if (board.join()) taken = board.take(LaneRole::helper, kCallers);
    board.leave(LaneRole::helper);
  });
  board.wait_for_company();
  board.offer(node.get());
  helper.join();
  EXPECT_TRUE(taken == node.get() || taken == nullptr);  // it may have given up waiting
  EXPECT_EQ(board.take_all().size(), taken == nullptr ? 1u : 0u);
  EXPECT_FALSE(board.is_wanted());
}

TEST(Board, AHelperThatWaitsInVainLeaves) {
  Board board;
  ASSERT_TRUE(board.join());
  Node* taken = nullptr;
  std::thread helper([&] {
    if (board.join()) taken = board.take(LaneRole::helper, kCallers);
    board.leave(LaneRole::helper);
  });
  helper.join();
  EXPECT_EQ(taken, nullptr);
  board.leave(LaneRole::caller);
  board.wait_until_empty();
}

TEST(Board, IsDesertedOnceTheCallerWasAloneForAWhile) {
  Board board;
  ASSERT_TRUE(board.join());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(board.is_deserted());
  ASSERT_TRUE(board.join());
  EXPECT_FALSE(board.is_deserted());
  const Board young;
  EXPECT_FALSE(young.is_deserted());
}

}  // namespace
}  // namespace ebb::autograd
