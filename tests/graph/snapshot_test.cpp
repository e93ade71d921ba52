// tests/graph/snapshot_test.cpp -- what a snapshot holds, and that it holds nothing else.
#include "ebb/graph/snapshot.h"

#include <gtest/gtest.h>

#include <map>

#include "ebb/autograd/custom/function.h"
#include "ebb/autograd/history/tensor_name.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/core/base/scope.h"
#include "ebb/core/runtime/allocator.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

using Names = std::vector<std::pair<std::string, Tensor>>;

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

TEST(Snapshot, NamesLeavesAndOtherTensors) {
  const Tensor x = leaf({1, 2}), y = x * x;
  const Names names = {{"x", x}, {"y", y}, {"other", leaf({1})}, {"nothing", Tensor()}};
  const Snapshot graph = take_snapshot(sum(y), {.names = names});
  EXPECT_EQ(graph.strings[graph.leaves[0].name], "x");
  EXPECT_EQ(graph.strings[graph.outputs_of(1)[0].name], "y");
  EXPECT_EQ(graph.outputs_of(0)[0].name, kNone);
}

TEST(Snapshot, ShowsTheNamesThatTensorsHave) {
  const Tensor x = leaf({1, 2}), y = x * x;
  set_name(x, "x");
  set_name(y, "square");
  const Snapshot graph = take_snapshot(sum(y));
  EXPECT_EQ(graph.strings[graph.leaves[0].name], "x");
  EXPECT_EQ(graph.strings[graph.outputs_of(1)[0].name], "square");
  const Snapshot renamed = take_snapshot(sum(y), {.names = Names{{"y", y}}});
  EXPECT_EQ(renamed.strings[renamed.outputs_of(1)[0].name], "y");
}

TEST(Snapshot, CountsSharedMemoryOnce) {
  const Tensor x = leaf({1, 2, 3});
  const Snapshot graph = take_snapshot(sum(x * x));
  ASSERT_EQ(graph.saved.size(), 2u);
  EXPECT_EQ(graph.saved[0].bytes, 12u);
  EXPECT_EQ(graph.saved[0].storage, graph.saved[1].storage);
  EXPECT_EQ(graph.saved_bytes(), x.impl()->storage->bytes());
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

TEST(Snapshot, ShowsAFreedGraph) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor loss = sum(x * x);
  backward(loss);
  const Snapshot graph = take_snapshot(loss);
  EXPECT_TRUE(graph.nodes[1].is_freed);
  EXPECT_TRUE(graph.saved.empty());
  EXPECT_EQ(graph.edges.size(), 3u);
}

TEST(Snapshot, ShowsALeafThatIsGone) {
  Tensor y;
  {
    const Tensor x = leaf({1, 2});
    y = x + x;
  }
  const Snapshot graph = take_snapshot(y);
  ASSERT_EQ(graph.leaves.size(), 1u);
  EXPECT_EQ(graph.leaves[0].bytes, 8u);
  EXPECT_EQ(graph.strings[graph.leaves[0].name], "");
}

TEST(Snapshot, CountsHooksByKind) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * x;
  register_hook(y, [](const Tensor& grad) { return grad; });
  register_hook(y, [](const Tensor& grad) { return grad; });
  register_post_accumulate_grad_hook(x, [](const Tensor&) {});
  register_node_prehook(*autograd::grad_fn(y), [](std::span<Tensor>) {});
  const Snapshot graph = take_snapshot(y);
  ASSERT_EQ(graph.hooks.size(), 2u);
  EXPECT_EQ(graph.hooks[0].tensor, 2u);
  EXPECT_EQ(graph.hooks[0].pre, 1u);
  EXPECT_EQ(graph.hooks[0].post, 0u);
  EXPECT_EQ(graph.hooks[1].post_accumulate, 1u);
}

TEST(Snapshot, TellsAttributesAsJson) {
  const Tensor x = leaf({1, 2});
  const Snapshot graph = take_snapshot(sum(x, IntSpan(Shape{0}), true));
  ASSERT_NE(graph.nodes[0].attributes, kNone);
  std::map<std::string, std::string> found;
  for (const Attribute& one : graph.attribute_sets[graph.nodes[0].attributes]) {
    found[graph.strings[one.name]] = one.value;
  }
  EXPECT_EQ(found["dim"], "[0]");
  EXPECT_EQ(found["keepdim"], "true");
}

TEST(Snapshot, LeadsFromViewsToTheirBase) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor base = x * x;
  const Tensor view = transpose(reshape(base, Shape{2, 2}), 0, 1);
  const Snapshot graph = take_snapshot(sum(exp(view)));
  ASSERT_EQ(graph.views.size(), 2u);
  EXPECT_EQ(graph.name_of(graph.views[0].node), "TransposeBackward");
  EXPECT_EQ(graph.name_of(graph.views[0].base), "MulBackward");
  EXPECT_EQ(graph.views[1].base, graph.views[0].base);
}

TEST(Snapshot, ShowsWritesThroughViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor base = x * x;
  const Tensor half = select(base, 0, 1);
  mul_(half, half);
  const Snapshot graph = take_snapshot(sum(base));
  EXPECT_EQ(graph.name_of(1), "WriteToViewBackward");
  EXPECT_EQ(graph.nodes[1].kind, NodeKind::write);
  EXPECT_EQ(graph.edges_of(1).size(), 2u);
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

struct Twice : Function<Twice> {
  static Tensor forward(FunctionContext&, const Tensor& x) { return x + x; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) {
    return {grads[0] + grads[0]};
  }
};

TEST(Snapshot, TellsCustomFunctionsFromOps) {
  const Snapshot graph = take_snapshot(Twice::apply(leaf({1})));
  EXPECT_EQ(graph.name_of(0), "TwiceBackward");
  EXPECT_EQ(graph.nodes[0].kind, NodeKind::custom);
  EXPECT_EQ(graph.nodes[1].kind, NodeKind::leaf);
}

TEST(Snapshot, PutsModulePathsTogether) {
  const Tensor x = leaf({1, 2});
  Tensor y;
  {
    const ModuleScope net("", "Net");
    y = x * x;
    const ModuleScope block("blocks", "ModuleList"), inner("3", "Block");
    y = exp(y);
  }
  const Snapshot graph = take_snapshot(sum(y));
  EXPECT_EQ(graph.nodes[0].module, kNone);
  const ModuleRow& deep = graph.modules[graph.nodes[1].module];
  EXPECT_EQ(graph.strings[deep.path], "blocks.3");
  EXPECT_EQ(graph.strings[deep.type], "Block");
  EXPECT_EQ(graph.strings[graph.modules[graph.nodes[2].module].path], "");
  EXPECT_EQ(graph.modules.size(), 3u);
}

TEST(Snapshot, TakesSeveralRootsAndEdges) {
  const Tensor x = leaf({1, 2}), y = x * x;
  const Tensor roots[] = {sum(y), y, x};
  const Snapshot graph = take_snapshot(roots);
  EXPECT_EQ(graph.nodes.size(), 3u);
  ASSERT_EQ(graph.roots.size(), 3u);
  EXPECT_EQ(graph.roots[1].node, 1u);
  EXPECT_EQ(graph.roots[2].node, 2u);
  const autograd::GradientEdge edge = get_gradient_edge(y);
  EXPECT_EQ(take_snapshot(std::span(&edge, 1)).nodes.size(), 2u);
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
