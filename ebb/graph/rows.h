// ebb/graph/rows.h -- the rows of a snapshot's tables, one struct per table (snapshot.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::graph {

using autograd::NodeKind;

/// Says that a row has no module, location, attributes or name.
inline constexpr uint32_t kNone = UINT32_MAX;

struct NodeRow {
  uint64_t sequence;  // in the order of recording; 0 for leaves
  uint32_t name;
  uint32_t module;
  LocationId location;  // 0 if unknown
  uint32_t attributes;
  NodeKind kind;
  bool is_freed;  // what it saved was freed by a run
};

/// What a node made forward, and so what flows back into it.
struct OutputRow {
  uint32_t node, index, shape;
  uint32_t name;  // as given to take_snapshot()
  DType dtype;
  Device device;
};

/// The gradient of input `input` of node `from` flows into output `output` of node `to`. Inputs
/// that want no gradient have no row.
struct EdgeRow {
  uint32_t from, input, to, output;
};

struct LeafRow {
  uint64_t bytes;
  uint32_t node, name;
  bool requires_grad;
};

struct SavedRow {
  uint64_t bytes;  // of its elements; of what hooks keep instead, as far as they can tell
  uint32_t node, name, shape, version;
  uint32_t storage;  // equal for those that share memory
  DType dtype;
  Device device;
  bool is_packed;  // hooks keep something else instead
};

struct HookRow {
  uint32_t node;
  uint32_t tensor, pre, post, post_accumulate;  // how many there are of each kind
};

/// A node whose output shares the memory of an output of `base`.
struct ViewRow {
  uint32_t node, base;
};

struct RootRow {
  uint32_t node, output;
};

/// A module that was called. The outermost has an empty path.
struct ModuleRow {
  uint32_t path, type, parent;  // the parent's number is smaller
};

/// What a profile says of a node: how long its op and its backward run took, all runs together.
struct TimeRow {
  int64_t forward_ns;   // -1 if the op ran outside of the profile; so for the next
  int64_t backward_ns;  // of the node
  int64_t allocated;    // bytes, in both; those made for results unless the profile notes memory

  /// Both together; -1 if neither is known.
  int64_t total_ns() const {
    if (forward_ns < 0) return backward_ns;
    return forward_ns + (backward_ns < 0 ? 0 : backward_ns);
  }
};

/// An attribute of an op: its value is JSON.
struct Attribute {
  uint32_t name;
  std::string value;
};

}  // namespace ebb::graph
