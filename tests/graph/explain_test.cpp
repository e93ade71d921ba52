// tests/graph/explain_test.cpp -- reasons, ways and traced cuts, from C++.
#include "ebb/graph/explain.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/cos.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/sin.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/graph/cut_search.h"
#include "ebb/graph/routes.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

std::vector<std::string> ops_of(const std::vector<Step>& steps) {
  std::vector<std::string> ops;
  for (const Step& step : steps) ops.push_back(step.op);
  return ops;
}
using Ops = std::vector<std::string>;

TEST(Explain, CountsWaysAndListsTheShortestFirst) {
  const Tensor x = leaf({1, 2}), h = exp(x);
  const Explanation found = explain(sum(sin(h) + h), x);
  EXPECT_EQ(found.reason, Reason::gets_gradient);
  EXPECT_EQ(found.ways, 2u);
  ASSERT_EQ(found.paths.size(), 2u);
  EXPECT_EQ(ops_of(found.paths[0]), (Ops{"ExpBackward", "AddBackward", "SumBackward"}));
  EXPECT_NE(to_string(found).find("gets_gradient: 2 ways\n  ExpBackward at "), std::string::npos);
}

TEST(Explain, StopsCountingAtTheLargestNumber) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int step = 0; step < 70; ++step) y = exp(y) + sin(y);
  EXPECT_EQ(explain(y, x).ways, UINT64_MAX);
}

TEST(Explain, AnswersForManyInputsAtOnce) {
  const Tensor used = leaf({1, 2}), cut = leaf({1, 2}), unused = leaf({1, 2});
  Tensor loss;
  {
    const TraceCutsGuard traced;
    loss = sum(used * detach(cut));
  }
  const Tensor inputs[] = {used, cut, unused, detach(used), used};
  const std::vector<InputSummary> found = explain_all({&loss, 1}, inputs);
  forget_cuts();
  const Reason expected[] = {Reason::gets_gradient, Reason::cut, Reason::not_used,
                             Reason::requires_no_grad, Reason::gets_gradient};
  for (size_t index = 0; index < 5; ++index) EXPECT_EQ(found[index].reason, expected[index]);
  EXPECT_EQ(found[0].step.op, "MulBackward");
  EXPECT_EQ(found[1].step.op, "detach");
  EXPECT_EQ(found[4].ways, 1u);
}

TEST(Explain, RefusesNoOutputsAndUndefinedTensors) {
  const Tensor x = leaf({1});
  EXPECT_THROW((void)explain(std::span<const Tensor>(), x), ValueError);
  EXPECT_THROW((void)explain(Tensor(), x), ValueError);
  EXPECT_THROW((void)explain(x, Tensor()), ValueError);
}

TEST(Routes, GoFromTheRootsAndToANode) {
  const Tensor x = leaf({1}), h = exp(x);
  const Snapshot graph = take_snapshot(sin(h) * cos(h));
  const auto last = static_cast<uint32_t>(graph.nodes.size() - 1);
  const Routes from = routes_from_roots(graph), to = routes_to(graph, last, 0);
  EXPECT_EQ(from.ways[last], 2u);
  EXPECT_EQ(to.ways[0], 2u);
  EXPECT_EQ(from.steps[last], 3u);
  EXPECT_EQ(shortest_ways(graph, to, 5).size(), 2u);
  EXPECT_EQ(shortest_ways(graph, to, 1).size(), 1u);
}

TEST(CutNotes, AreForgottenOldestFirst) {
  autograd::CutNotes notes;
  const autograd::CutNote note = {.name = "op",
                                  .place = 0,
                                  .context = 0,
                                  .first_source = 0,
                                  .source_count = 0,
                                  .kind = autograd::NoteKind::unrecorded,
                                  .cut = autograd::Cut::detached};
  const autograd::NoteId first = notes.add(note, {});
  const autograd::NoteSource source = 0;
  const autograd::NoteId second = notes.add(note, {&source, 1});
  EXPECT_EQ(notes.note_of(static_cast<uint32_t>(second)), second);
  EXPECT_EQ(notes.sources_of(second).size(), 1u);
  for (size_t index = 0; index < autograd::CutNotes::kMostNotes; ++index) {
    notes.make_room();
    notes.add(note, {&source, 1});
  }
  EXPECT_EQ(notes.note_of(static_cast<uint32_t>(first)), autograd::kNoNote);
  EXPECT_EQ(notes.note_of(static_cast<uint32_t>(notes.end() - 1)), notes.end() - 1);
  EXPECT_LE(notes.end() - notes.first(), autograd::CutNotes::kMostNotes);
}

}  // namespace
}  // namespace ebb::graph
