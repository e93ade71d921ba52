// ebb/graph/routes.h -- how many ways a gradient takes, and which are the shortest.
//
// Edges lead from smaller to larger numbers of nodes, so one pass over them counts what would take
// forever to list. A way is told by the nodes on it: two edges between the same nodes are one.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/graph/snapshot.h"

namespace ebb::graph {

/// What is known of each node.
struct Routes {
  std::vector<uint64_t> ways;   // 0: none; UINT64_MAX: that many or more
  std::vector<uint32_t> steps;  // edges of a shortest one; kNone: there is none
  std::vector<uint32_t> next;   // the node after this on a shortest one; kNone at its end
};

/// From every node to output `output` of `target`.
EBB_API Routes routes_to(const Snapshot& graph, uint32_t target, uint32_t output);
/// From the roots to every node; `next` is the one before it.
EBB_API Routes routes_from_roots(const Snapshot& graph);

/// Nodes at which a gradient starts, each once.
EBB_API std::vector<uint32_t> root_nodes(const Snapshot& graph);

/// The shortest `most` ways from the roots, which end where those of `to` do; the first of them is
/// a shortest of all.
EBB_API std::vector<std::vector<uint32_t>> shortest_ways(const Snapshot& graph, const Routes& to,
                                                         size_t most);

}  // namespace ebb::graph
