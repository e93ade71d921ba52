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
#include "ebb/graph/rows.h"

namespace ebb::graph {

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
