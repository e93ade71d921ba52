// ebb/graph/routes.cpp -- one pass over the edges, forwards or backwards; a queue for single ways.
#include "ebb/graph/routes.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace ebb::graph {
namespace {

Routes empty_routes(size_t nodes) {
  return {.ways = std::vector<uint64_t>(nodes, 0),
          .steps = std::vector<uint32_t>(nodes, kNone),
          .next = std::vector<uint32_t>(nodes, kNone)};
}

uint64_t add_capped(uint64_t one, uint64_t other) {
  return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/// `node` has the ways of `onward`, one edge longer.
void extend(Routes& routes, uint32_t node, uint32_t onward) {
  routes.ways[node] = add_capped(routes.ways[node], routes.ways[onward]);
  const uint32_t steps = routes.steps[onward] + 1;
  if (steps < routes.steps[node]) {
    routes.steps[node] = steps;
    routes.next[node] = onward;
  }
}

/// The rows of each node's edges, in a table sorted by node.
std::vector<uint32_t> first_edges(const Snapshot& graph) {
  std::vector<uint32_t> first(graph.nodes.size() + 1, 0);
  for (const EdgeRow& edge : graph.edges) ++first[edge.from + 1];
  for (size_t node = 0; node < graph.nodes.size(); ++node) first[node + 1] += first[node];
  return first;
}

/// Calls `visit` with each node that an edge of `node` leads to, once.
class Targets {
 public:
  explicit Targets(const Snapshot& graph)
      : graph_(graph), first_(first_edges(graph)), seen_by_(graph.nodes.size(), 0) {}

  template <typename Visit>
  void for_each(uint32_t node, Visit visit) {
    ++call_;  // a node is looked at again for each way that leads to it
    for (uint32_t row = first_[node]; row < first_[node + 1]; ++row) {
      const EdgeRow& edge = graph_.edges[row];
      if (std::exchange(seen_by_[edge.to], call_) != call_) visit(edge);
    }
  }

 private:
  const Snapshot& graph_;
  std::vector<uint32_t> first_;
  std::vector<uint64_t> seen_by_;
  uint64_t call_ = 0;
};

}  // namespace

std::vector<uint32_t> root_nodes(const Snapshot& graph) {
  std::vector<uint32_t> nodes;
  for (const RootRow& root : graph.roots) nodes.push_back(root.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Routes routes_to(const Snapshot& graph, uint32_t target, uint32_t output) {
  Routes routes = empty_routes(graph.nodes.size());
  routes.ways[target] = 1;
  routes.steps[target] = 0;
  std::vector<uint32_t> seen_from(graph.nodes.size(), kNone);
  for (size_t row = graph.edges.size(); row-- > 0;) {
    const EdgeRow& edge = graph.edges[row];
    const bool arrives = routes.ways[edge.to] != 0 && (edge.to != target || edge.output == output);
    if (!arrives || std::exchange(seen_from[edge.to], edge.from) == edge.from) continue;
    extend(routes, edge.from, edge.to);
  }
  return routes;
}

Routes routes_from_roots(const Snapshot& graph) {
  Routes routes = empty_routes(graph.nodes.size());
  for (const uint32_t root : root_nodes(graph)) {
    routes.ways[root] = 1;
    routes.steps[root] = 0;
  }
  std::vector<uint32_t> seen_from(graph.nodes.size(), kNone);
  for (const EdgeRow& edge : graph.edges) {
    if (std::exchange(seen_from[edge.to], edge.from) == edge.from) continue;
    extend(routes, edge.to, edge.from);
  }
  return routes;
}

/// Ways are taken from a queue by how long they will be at best; of equal ones the longest so far,
/// so that one is finished before the next is begun.
std::vector<std::vector<uint32_t>> shortest_ways(const Snapshot& graph, const Routes& to,
                                                 size_t most) {
  struct Begun {
    uint32_t node, before, length;
  };
  std::vector<Begun> begun;
  const auto is_worse = [&](uint32_t one, uint32_t other) {
    const auto total = [&](uint32_t way) {
      return uint64_t{begun[way].length} + to.steps[begun[way].node];
    };
    if (total(one) != total(other)) return total(one) > total(other);
    return begun[one].length < begun[other].length;
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(is_worse)> queue(is_worse);
  const auto begin = [&](uint32_t node, uint32_t before, uint32_t length) {
    if (to.steps[node] == kNone) return;
    begun.push_back({node, before, length});
    queue.push(static_cast<uint32_t>(begun.size() - 1));
  };
  for (const uint32_t root : root_nodes(graph)) begin(root, kNone, 0);
  Targets targets(graph);
  std::vector<std::vector<uint32_t>> found;
  while (!queue.empty() && found.size() < most) {
    const uint32_t way = queue.top();
    queue.pop();
    const Begun last = begun[way];
    if (to.steps[last.node] > 0) {
      targets.for_each(last.node,
                       [&](const EdgeRow& edge) { begin(edge.to, way, last.length + 1); });
      continue;
    }
    std::vector<uint32_t>& nodes = found.emplace_back();
    for (uint32_t at = way; at != kNone; at = begun[at].before) nodes.push_back(begun[at].node);
    std::reverse(nodes.begin(), nodes.end());
  }
  return found;
}

}  // namespace ebb::graph
