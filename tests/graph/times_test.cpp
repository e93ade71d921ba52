// tests/graph/times_test.cpp -- what a profile says of the nodes of a snapshot.
#include "ebb/graph/times.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/graph/json.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

ProfileRange range_of(uint64_t sequence, uint64_t start, uint64_t end, int64_t bytes,
                      bool is_backward) {
  ProfileRange range{};
  range.name = "range";
  range.sequence = sequence;
  range.start = start;
  range.end = end;
  range.bytes = bytes;
  range.is_backward = is_backward;
  return range;
}

/// A profile of one thread whose ticks are half a nanosecond.
ProfileReport report_of(std::vector<ProfileRange> ranges) {
  ProfileReport report{};
  report.ns_per_tick = 0.5;
  report.threads.push_back({1, std::move(ranges), {}, {}});
  return report;
}

Snapshot graph_of_square() { return take_snapshot(sum(mul(leaf({1, 2, 3}), leaf({1, 2, 3})))); }

TEST(GraphTimes, AreFoundBySequenceNumberAndAddedUp) {
  Snapshot graph = graph_of_square();
  const uint64_t last = graph.nodes[0].sequence, first = graph.nodes[1].sequence;
  add_times(graph,
            report_of({range_of(first, 0, 100, 12, false), range_of(last, 100, 120, 4, false),
                       range_of(first, 200, 260, 24, true), range_of(first, 300, 310, 24, true),
                       range_of(0, 0, 999, 99, true)}));
  ASSERT_EQ(graph.times.size(), graph.nodes.size());
  EXPECT_EQ(graph.times[1].forward_ns, 50);
  EXPECT_EQ(graph.times[1].backward_ns, 30 + 5);
  EXPECT_EQ(graph.times[1].total_ns(), 85);
  EXPECT_EQ(graph.times[1].allocated, 60);
  EXPECT_EQ(graph.times[0].forward_ns, 10);
  EXPECT_EQ(graph.times[0].backward_ns, -1);
  EXPECT_EQ(graph.times[0].total_ns(), 10);
  EXPECT_EQ(graph.times[2].total_ns(), -1);  // a leaf
}

TEST(GraphTimes, CountARangeInsideAnotherOfTheSameNodeOnce) {
  Snapshot graph = graph_of_square();
  const uint64_t last = graph.nodes[0].sequence;
  add_times(graph, report_of({range_of(last, 20, 60, 4, false), range_of(last, 0, 100, 4, false)}));
  EXPECT_EQ(graph.times[0].forward_ns, 50);
  EXPECT_EQ(graph.times[0].allocated, 4);
}

TEST(GraphTimes, TakeAllThatWasAllocatedWhereAProfileNotesMemory) {
  Snapshot graph = graph_of_square();
  ProfileReport report = report_of({range_of(graph.nodes[0].sequence, 0, 10, 4, false)});
  report.threads[0].memory.push_back({.allocations = 3, .allocated = 500, .peak = 0, .kept = 0});
  add_times(graph, report);
  EXPECT_EQ(graph.times[0].allocated, 500);
}

TEST(GraphTimes, OfARunThatWasProfiledAreThere) {
  const Tensor x = leaf({1, 2, 3});
  start_profile();
  const Tensor loss = sum(exp(x));
  Snapshot graph = take_snapshot(loss);
  backward(loss);
  add_times(graph, stop_profile());
  for (uint32_t node = 0; node < 2; ++node) {
    EXPECT_GT(graph.times[node].forward_ns, 0) << graph.name_of(node);
    EXPECT_GT(graph.times[node].backward_ns, 0) << graph.name_of(node);
    EXPECT_GT(graph.times[node].allocated, 0) << graph.name_of(node);
  }
}

TEST(GraphTimes, AreColumnsOfTheJson) {
  Snapshot graph = graph_of_square();
  EXPECT_FALSE(nlohmann::json::parse(to_json(graph))["nodes"].contains("time_ns"));
  add_times(graph, report_of({range_of(graph.nodes[0].sequence, 0, 100, 4, false)}));
  const nlohmann::json nodes = nlohmann::json::parse(to_json(graph))["nodes"];
  EXPECT_EQ(nodes["time_ns"], nlohmann::json({50, -1, -1, -1}));
  EXPECT_EQ(nodes["forward_ns"], nlohmann::json({50, -1, -1, -1}));
  EXPECT_EQ(nodes["backward_ns"], nlohmann::json({-1, -1, -1, -1}));
  EXPECT_EQ(nodes["allocated"], nlohmann::json({4, 0, 0, 0}));
}

}  // namespace
}  // namespace ebb::graph
