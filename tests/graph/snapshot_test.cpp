// tests/graph/snapshot_test.cpp -- the rows of a snapshot as C++ reads them, and that it holds
// nothing else. What else it shows is tested in tests/python/graphs/test_graph.py and
// test_models.py.
#include "ebb/graph/snapshot.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

std::vector<std::string> names_of(const Snapshot& graph) {
  std::vector<std::string> names;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    names.emplace_back(graph.name_of(node));
  }
  return names;
}

/// x = v + x, so many times.
Tensor chain(Tensor x, int length) {
  const Tensor v = leaf({1.0f});
  for (int step = 0; step < length; ++step) x = x + v;
  return x;
}

TEST(Snapshot, NumbersOpsFromTheRootAndThenLeaves) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  const Snapshot graph = take_snapshot(sum(x * w));
  const std::vector<std::string> expected = {"SumBackward", "MulBackward", "AccumulateGrad",
                                             "AccumulateGrad"};
  EXPECT_EQ(names_of(graph), expected);
  ASSERT_EQ(graph.edges.size(), 3u);
  EXPECT_EQ(graph.edges[0].to, 1u);
  EXPECT_EQ(graph.edges[1].to, 2u);
  EXPECT_EQ(graph.edges[2].to, 3u);
  EXPECT_EQ(graph.edges[2].input, 1u);
}

TEST(Snapshot, TellsWhatFlowsAlongAnEdge) {
  const Tensor x = leaf({1, 2, 3}), w = leaf({4, 5, 6});
  const Tensor y = sum(x * w);
  requires_grad_(w, false);
  const Snapshot graph = take_snapshot(y);
  const OutputRow& flow = graph.flow_of(graph.edges[1]);
  EXPECT_EQ(graph.shapes[flow.shape], std::vector<int64_t>{3});
  EXPECT_EQ(flow.dtype, DType::float32);
  EXPECT_EQ(to_string(flow.device), "cpu");
  EXPECT_TRUE(graph.requires_grad(graph.edges[1]));
  EXPECT_FALSE(graph.requires_grad(graph.edges[2]));
}

TEST(Snapshot, KeepsNothingAlive) {
  const int64_t before = memory_stats().live;
  Snapshot graph;
  {
    const Tensor x = leaf({1, 2, 3});
    graph = take_snapshot(sum(x * x));
  }
  EXPECT_EQ(memory_stats().live, before);
  EXPECT_EQ(graph.nodes.size(), 3u);
}

TEST(Snapshot, TakesNoOperandOfAWriteForItsBase) {
  const Tensor base = exp(leaf({1, 2, 3, 4})), source = exp(leaf({5}));
  const Tensor part = select(base, 0, 1);
  copy_(part, reshape(source * source, Shape{}));
  const Snapshot graph = take_snapshot(sum(part));
  for (const ViewRow& row : graph.views) EXPECT_NE(graph.name_of(row.node), "CopyBackward");
  ASSERT_FALSE(graph.views.empty());
  EXPECT_EQ(graph.name_of(graph.views[0].node), "AsStridedBackward");
  EXPECT_EQ(graph.name_of(graph.views[0].base), "WriteToViewBackward");
}

TEST(Snapshot, WalksDeepGraphsOnASmallStack) {
  const Tensor end = chain(leaf({0}), 100'000);
  run_on_small_stack(64 << 10, [&] {
    const Snapshot graph = take_snapshot(end);
    EXPECT_EQ(graph.nodes.size(), 100'002u);
    EXPECT_LT(graph.memory_bytes() / graph.nodes.size(), 300u);
  });
}

TEST(Snapshot, RefusesRootsWithoutHistory) {
  EXPECT_THROW(take_snapshot(std::span<const Tensor>()), ValueError);
  EXPECT_THROW(take_snapshot(Tensor()), ValueError);
  EXPECT_THROW(take_snapshot(vector_of<float>({1})), AutogradError);
  const autograd::GradientEdge nowhere;
  EXPECT_THROW(take_snapshot(std::span(&nowhere, 1)), ValueError);
}

}  // namespace
}  // namespace ebb::graph
