// tests/graph/dot_test.cpp -- boxes and arrows of the graph as text.
#include "ebb/graph/dot.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Snapshot graph_of_product() {
  const Tensor x = leaf({1, 2, 3});
  const std::vector<std::pair<std::string, Tensor>> names = {{"x", x}};
  return take_snapshot(sum(x * x, IntSpan(Shape{0})), {.names = names});
}

TEST(GraphDot, HasABoxForEachNodeLeafAndResult) {
  const std::string dot = to_dot(graph_of_product());
  EXPECT_EQ(dot.rfind("digraph {\n", 0), 0u);
  EXPECT_EQ(count(dot, "fillcolor=lightgrey"), 3u);
  EXPECT_EQ(count(dot, "fillcolor=darkolivegreen1"), 1u);
  EXPECT_EQ(count(dot, "leaf2 [label=\"x\\l[3]\\l\" fillcolor=lightblue]"), 1u);
  EXPECT_EQ(count(dot, "n2 -> n1"), 2u);
  EXPECT_EQ(count(dot, "n1 -> n0"), 1u);
}

TEST(GraphDot, ShowsAttributesCutToSize) {
  const std::string dot =
      to_dot(graph_of_product(), {.show_attributes = true, .max_attribute_chars = 2});
  EXPECT_EQ(count(dot, "dim: [0...\\l"), 1u);
  EXPECT_EQ(count(dot, "input: fl...\\l"), 1u);
}

TEST(GraphDot, ShowsSavedTensorsAndShapes) {
  const std::string dot = to_dot(graph_of_product(), {.show_saved = true, .show_shapes = true});
  EXPECT_EQ(count(dot, "fillcolor=orange"), 2u);
  EXPECT_EQ(count(dot, "n1 -> n0 [label=\"[3] float32 cpu\"]"), 1u);
}

TEST(GraphDot, PointsTheWayThatGradientsGoIfAsked) {
  const std::string dot = to_dot(graph_of_product(), {.direction = Direction::backward});
  EXPECT_EQ(count(dot, "n1 -> n2"), 2u);
  EXPECT_EQ(count(dot, "n0 -> n1"), 1u);
  EXPECT_EQ(count(dot, "root0 -> n0"), 1u);
  EXPECT_EQ(count(dot, "n2 -> leaf2"), 1u);
}

TEST(GraphDot, DotsTheEdgeFromBaseToView) {
  const Tensor x = leaf({1, 2, 3, 4});
  const std::string dot = to_dot(take_snapshot(exp(transpose(reshape(x * x, Shape{2, 2}), 0, 1))));
  EXPECT_EQ(count(dot, "[style=dotted]"), 2u);
  EXPECT_EQ(count(dot, "fillcolor=darkolivegreen3"), 1u);
}

TEST(GraphDot, MarksNodesThatWereFreed) {
  const Tensor loss = sum(exp(leaf({1, 2})));
  backward(loss);
  EXPECT_EQ(count(to_dot(take_snapshot(loss)), "ExpBackward (freed)"), 1u);
}

}  // namespace
}  // namespace ebb::graph
