// ebb/graph/snapshot.h -- a backward graph as tables of plain data.
//
// take_snapshot() copies all that is known of the nodes behind some roots: it keeps neither nodes
// nor tensors alive, and what happens to the graph later does not change it. Rows are sorted by
// node. Ops come first, by falling sequence number, so that edges of ops lead to larger numbers;
// then leaves, by first use in the forward pass. Start reading at Snapshot.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/location.h"
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

/// See the top of the file. `name`, `path` and `type` are indices of `strings`, `shape` of
/// `shapes`, `attributes` of `attribute_sets`.
struct EBB_API Snapshot {
  std::vector<NodeRow> nodes;
  std::vector<OutputRow> outputs;
  std::vector<EdgeRow> edges;
  std::vector<LeafRow> leaves;
  std::vector<SavedRow> saved;
  std::vector<HookRow> hooks;
  std::vector<ViewRow> views;
  std::vector<RootRow> roots;
  std::vector<ModuleRow> modules;
  std::vector<TimeRow> times;  // of each node; empty until add_times() (times.h)
  std::vector<std::vector<Attribute>> attribute_sets;
  std::vector<uint64_t> storages;  // bytes of each memory that something saved is in
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> strings;

  std::string_view name_of(uint32_t node) const { return strings[nodes[node].name]; }
  std::span<const OutputRow> outputs_of(uint32_t node) const;
  std::span<const EdgeRow> edges_of(uint32_t node) const;
  std::span<const SavedRow> saved_of(uint32_t node) const;
  const LeafRow* leaf_of(uint32_t node) const;
  /// What the gradient of an edge looks like: as what its target made forward.
  const OutputRow& flow_of(const EdgeRow& edge) const { return outputs_of(edge.to)[edge.output]; }
  /// Whether a gradient is wanted at the end of an edge: not by a leaf that was told so.
  bool requires_grad(const EdgeRow& edge) const;
  /// Bytes of memory that all saved tensors together keep alive; shared memory counts once.
  uint64_t saved_bytes() const;
  /// What the tables themselves take.
  size_t memory_bytes() const;
};

struct SnapshotOptions {
  /// Names of leaves and of other tensors in the graph; others go by their own (set_name()).
  std::span<const std::pair<std::string, Tensor>> names = {};
  bool uses_own_names = true;  // if not, those others have none
};

/// The place of a root in the graph. Throws AutogradError, saying why, if it has none.
EBB_API autograd::GradientEdge root_edge(const Tensor& root);

/// Throws ValueError without roots, AutogradError for a root that requires no gradient. Other
/// threads may run the graph meanwhile: then each node is shown as it was at some moment.
EBB_API Snapshot take_snapshot(std::span<const Tensor> roots, const SnapshotOptions& options = {});
EBB_API Snapshot take_snapshot(std::span<const autograd::GradientEdge> roots,
                               const SnapshotOptions& options = {});
inline Snapshot take_snapshot(const Tensor& root, const SnapshotOptions& options = {}) {
  return take_snapshot(std::span(&root, 1), options);
}

}  // namespace ebb::graph
