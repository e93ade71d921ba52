// tests/autograd/engine/ready_nodes_test.cpp -- of the nodes that are ready, the one recorded last
// comes first.
#include "ebb/autograd/engine/ready_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/autograd/graph_support.h"

namespace ebb::autograd {
namespace {

/// So many nodes, in the order in which they were recorded.
std::vector<NodePtr<Node>> new_nodes(int count) {
  std::vector<NodePtr<Node>> nodes;
  for (int index = 0; index < count; ++index) {
    auto node = make_node<RuleBackward>(1, 1, 0);
    NodeAccess::number(*node, 0, 0);
    nodes.emplace_back(node.leak());
  }
  return nodes;
}

TEST(ReadyNodes, GivesTheLatestFirstInWhateverOrderTheyCome) {
  const std::vector<NodePtr<Node>> nodes = new_nodes(6);
  std::mt19937 random(5);
  std::vector<Node*> order, heap;
  for (const auto& node : nodes) order.push_back(node.get());
  for (int round = 0; round < 200; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    ReadyNodes ready(heap);
    for (Node* const node : order) ready.push(node);
    for (size_t left = nodes.size(); left-- > 0;) {
      EXPECT_EQ(ready.latest(), nodes[left]->sequence());
      EXPECT_EQ(ready.pop(), nodes[left].get());
    }
    EXPECT_EQ(ready.pop(), nullptr);
    EXPECT_EQ(ready.latest(), 0u);
  }
}

TEST(ReadyNodes, AreEmptyOnceTheLastIsTaken) {
  const std::vector<NodePtr<Node>> nodes = new_nodes(2);
  std::vector<Node*> heap;
  ReadyNodes ready(heap);
  EXPECT_TRUE(ready.empty());
  ready.push(nodes[0].get());
  EXPECT_FALSE(ready.empty());
  ready.push(nodes[1].get());
  ready.pop();
  EXPECT_FALSE(ready.empty());
  ready.pop();
  EXPECT_TRUE(ready.empty());
}

TEST(ReadyNodes, HaveASurplusBeyondTheOneToRunNext) {
  const std::vector<NodePtr<Node>> nodes = new_nodes(3);
  std::vector<Node*> heap;
  ReadyNodes ready(heap);
  ready.push(nodes[2].get());
  EXPECT_FALSE(ready.has_surplus());
  ready.push(nodes[0].get());
  EXPECT_TRUE(ready.has_surplus());
  EXPECT_EQ(ready.take_surplus(), nodes[0].get());
  EXPECT_FALSE(ready.has_surplus());
  ready.push(nodes[0].get());
  ready.push(nodes[1].get());
  EXPECT_EQ(ready.pop(), nodes[2].get());
  EXPECT_TRUE(ready.has_surplus());  // two, of which one is to run next
  EXPECT_EQ(ready.take_surplus(), nodes[0].get());
  EXPECT_FALSE(ready.has_surplus());
}

TEST(ReadyNodes, AreCountedUpToALimit) {
  const std::vector<NodePtr<Node>> nodes = new_nodes(4);
  std::vector<Node*> heap;
  ReadyNodes ready(heap);
  const auto all = [](const Node&) { return true; };
  EXPECT_EQ(ready.count_up_to(9, all), 0u);
  for (const auto& node : nodes) ready.push(node.get());
  EXPECT_EQ(ready.count_up_to(9, all), 4u);
  EXPECT_EQ(ready.count_up_to(2, all), 2u);
  const auto is_last = [&](const Node& node) { return &node == nodes[3].get(); };
  EXPECT_EQ(ready.count_up_to(9, is_last), 1u);
  ready.pop();
  EXPECT_EQ(ready.count_up_to(9, is_last), 0u);
  EXPECT_EQ(ready.count_up_to(9, all), 3u);
}

}  // namespace
}  // namespace ebb::autograd
