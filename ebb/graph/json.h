// ebb/graph/json.h -- a snapshot in the data format that the viewer reads (docs/graph_json.md).
#pragma once

#include <string>

#include "ebb/graph/snapshot.h"

namespace ebb::graph {

/// One JSON object: format "ebb.graph", version 1. Looks up the lines of all locations.
EBB_API std::string to_json(const Snapshot& snapshot);

/// The lines that nodes were recorded at, each once, and which of them is each node's. Where a mode
/// recorded whole stacks (RecordStacksGuard, DetectAnomalyGuard), those too.
struct EBB_API Locations {
  explicit Locations(const Snapshot& snapshot);
  std::vector<SourceLocation> lines;
  std::vector<uint32_t> of_nodes;             // kNone where no line is known
  std::vector<std::vector<uint32_t>> stacks;  // each once: lines, innermost first
  std::vector<uint32_t> stack_of_nodes;       // kNone where no more than the line is known
};

}  // namespace ebb::graph
