// ebb/graph/snapshot.cpp -- writes the rows of all nodes behind the roots.
#include "ebb/graph/snapshot.h"

#include <algorithm>
#include <unordered_map>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/scope.h"
#include "ebb/graph/node_values.h"
#include "ebb/graph/reach.h"
#include "ebb/graph/tables.h"

namespace ebb::graph {
namespace {

using autograd::Edge;
using autograd::GradientEdge;
using autograd::HookKind;
using autograd::Node;

class Builder {
 public:
  Builder(std::span<const GradientEdge> roots, const SnapshotOptions& options)
      : roots_(roots), options_(options), reach_(roots), nodes_(reach_.nodes()) {
    for (uint32_t index = 0; index < options.names.size(); ++index) {
      const Tensor& tensor = options.names[index].second;
      if (tensor.defined()) names_.at(tensor.impl(), index);
    }
  }

  Snapshot build() {
    fill_nodes();
    find_modules();
    find_views();
    for (const GradientEdge& root : roots_) {
      snapshot_.roots.push_back({reach_.number_of(root.node.get()), root.output_nr});
    }
    name_outputs();
    snapshot_.saved = std::move(saved_.rows);
    snapshot_.storages = std::move(saved_.storages);
    snapshot_.attribute_sets = std::move(attributes_.sets);
    snapshot_.shapes = std::move(shapes_).take();
    snapshot_.strings = std::move(texts_).take();
    return std::move(snapshot_);
  }

 private:
  void fill_nodes();
  void add_outputs(const Node& node, uint32_t number);
  void add_hooks(const Node& node, uint32_t number);
  void add_leaf(Node& node, uint32_t number);
  uint32_t name_of(autograd::AccumulateGrad& accumulator, const Tensor& leaf);
  void find_modules();
  uint32_t module_of(ScopeId scope);
  void find_views();
  void name_outputs();

  const std::span<const GradientEdge> roots_;
  const SnapshotOptions& options_;
  Snapshot snapshot_;
  const Reach reach_;
  const std::vector<Node*>& nodes_;
  PointerMap names_;  // from tensors to places in options_.names
  TextTable texts_;
  ShapeTable shapes_;
  SavedTable saved_{texts_, shapes_};
  AttributeTable attributes_{texts_};
  std::unordered_map<ScopeId, uint32_t> modules_;
};

void Builder::fill_nodes() {
  snapshot_.nodes.reserve(nodes_.size());
  snapshot_.outputs.reserve(reach_.output_count());
  snapshot_.edges.reserve(reach_.edge_count());
  for (uint32_t number = 0; number < nodes_.size(); ++number) {
    Node& node = *nodes_[number];
    snapshot_.nodes.push_back({.sequence = node.sequence(),
                               .name = texts_.number_of_lasting(node.name()),
                               .module = kNone,
                               .location = node.location(),
                               .attributes = attributes_.number_of(node),
                               .kind = node.kind(),
                               .is_freed = node.is_released()});
    add_outputs(node, number);
    if (node.extra() != nullptr) add_hooks(node, number);
    if (node.is_accumulator()) {
      add_leaf(node, number);
      continue;
    }
    saved_.add(node, number);
    const std::span<const uint32_t> targets = reach_.targets(number);
    for (uint32_t input = 0; input < targets.size(); ++input) {
      if (targets[input] == kNone) continue;
      snapshot_.edges.push_back({number, input, targets[input], node.edges()[input].index});
    }
  }
}

void Builder::add_outputs(const Node& node, uint32_t number) {
  const bool may_be_named =
      options_.uses_own_names && node.extra() != nullptr && !node.is_accumulator();
  for (uint32_t index = 0; index < node.output_count(); ++index) {
    const autograd::OutputMeta& meta = node.output_meta(index);
    std::string name;
    if (may_be_named) name = autograd::title_of(Edge{const_cast<Node*>(&node), index, 0});
    snapshot_.outputs.push_back({.node = number,
                                 .index = index,
                                 .shape = shapes_.number_of(meta.shape()),
                                 .name = name.empty() ? kNone : texts_.number_of(name),
                                 .dtype = meta.dtype,
                                 .device = revealed(meta.device)});
  }
}

void Builder::add_hooks(const Node& node, uint32_t number) {
  HookRow row = {.node = number, .tensor = 0, .pre = 0, .post = 0, .post_accumulate = 0};
  const auto hooks = node.extra()->hooks->snapshot();
  for (const autograd::HookTable::Entry& hook : *hooks) {
    switch (hook.kind) {
      case HookKind::tensor: ++row.tensor; break;
      case HookKind::gate:  // a module's hooks, called before the node as well
      case HookKind::pre: ++row.pre; break;
      case HookKind::post: ++row.post; break;
      case HookKind::post_accumulate: ++row.post_accumulate; break;
    }
  }
  if (!hooks->empty()) snapshot_.hooks.push_back(row);
}

void Builder::add_leaf(Node& node, uint32_t number) {
  auto& accumulator = static_cast<autograd::AccumulateGrad&>(node);
  const autograd::OutputMeta& meta = node.output_meta(0);
  const Tensor leaf = accumulator.share_leaf();
  uint64_t bytes = item_size(meta.dtype);
  for (const int64_t size : meta.shape()) bytes *= static_cast<uint64_t>(size);
  snapshot_.leaves.push_back({.bytes = bytes,
                              .node = number,
                              .name = name_of(accumulator, leaf),
                              .requires_grad = !leaf.defined() || leaf.requires_grad()});
}

uint32_t Builder::name_of(autograd::AccumulateGrad& accumulator, const Tensor& leaf) {
  const uint32_t* const known = leaf.defined() ? names_.find(leaf.impl()) : nullptr;
  if (known != nullptr) return texts_.number_of(options_.names[*known].first);
  return texts_.number_of(options_.uses_own_names ? accumulator.names().title() : "");
}

// Modules are numbered in the order of the forward pass.
void Builder::find_modules() {
  for (uint32_t number = static_cast<uint32_t>(nodes_.size()); number-- > 0;) {
    const Node& node = *nodes_[number];
    if (node.is_accumulator() || node.output_count() == 0) continue;
    snapshot_.nodes[number].module = module_of(scope_of(node.output_meta(0).context));
  }
}

uint32_t Builder::module_of(ScopeId scope) {
  std::vector<std::pair<ScopeId, ScopeInfo>> steps;  // that have no number yet, innermost first
  while (scope != 0 && !modules_.contains(scope)) {
    steps.emplace_back(scope, describe_scope(scope));
    scope = steps.back().second.parent;
  }
  uint32_t module = scope == 0 ? kNone : modules_.at(scope);
  for (; !steps.empty(); steps.pop_back()) {
    const auto& [id, step] = steps.back();
    std::string path = module == kNone ? "" : texts_.texts()[snapshot_.modules[module].path];
    if (!path.empty() && !step.name.empty()) path += '.';
    path += step.name;
    snapshot_.modules.push_back(
        {.path = texts_.number_of(path), .type = texts_.number_of(step.type), .parent = module});
    module = static_cast<uint32_t>(snapshot_.modules.size() - 1);
    modules_.emplace(id, module);
  }
  return module;
}

/// From the first op to the last: a view of a view goes for the base of that.
void Builder::find_views() {
  std::vector<uint32_t> base(nodes_.size(), kNone);
  for (uint32_t number = static_cast<uint32_t>(nodes_.size()); number-- > 0;) {
    const Node& node = *nodes_[number];
    const bool is_regenerated = node.kind() == NodeKind::write && node.edge_count() == 1;
    const bool is_op = node.kind() == NodeKind::op && node.output_count() > 0;
    const bool is_view = is_regenerated || (is_op && node.output_meta(0).is_view());
    if (!is_view || node.edges()[0].node == nullptr) continue;
    const uint32_t source = reach_.targets(number)[0];
    base[number] = base[source] == kNone ? source : base[source];
  }
  for (uint32_t number = 0; number < base.size(); ++number) {
    if (base[number] != kNone) snapshot_.views.push_back({number, base[number]});
  }
}

void Builder::name_outputs() {
  for (const auto& [name, tensor] : options_.names) {
    if (!tensor.defined()) continue;
    const Edge edge = autograd::gradient_edge(tensor);
    const uint32_t number = edge.node == nullptr ? kNone : reach_.number_of(edge.node);
    if (number == kNone || edge.node->is_accumulator()) continue;
    const std::span<const OutputRow> outputs = snapshot_.outputs_of(number);
    if (edge.index >= outputs.size()) continue;
    const auto place = static_cast<size_t>(&outputs[edge.index] - snapshot_.outputs.data());
    snapshot_.outputs[place].name = texts_.number_of(name);
  }
}

/// The rows that belong to a node, in a table sorted by node.
template <typename Row>
std::span<const Row> rows_of(const std::vector<Row>& rows, uint32_t node, uint32_t Row::*owner) {
  const auto first = std::partition_point(rows.begin(), rows.end(),
                                          [&](const Row& row) { return row.*owner < node; });
  const auto last =
      std::partition_point(first, rows.end(), [&](const Row& row) { return row.*owner <= node; });
  return {first, last};
}

template <typename Row>
size_t bytes_of(const std::vector<Row>& rows) {
  return rows.capacity() * sizeof(Row);
}

}  // namespace

std::span<const OutputRow> Snapshot::outputs_of(uint32_t node) const {
  return rows_of(outputs, node, &OutputRow::node);
}
std::span<const EdgeRow> Snapshot::edges_of(uint32_t node) const {
  return rows_of(edges, node, &EdgeRow::from);
}
std::span<const SavedRow> Snapshot::saved_of(uint32_t node) const {
  return rows_of(saved, node, &SavedRow::node);
}
const LeafRow* Snapshot::leaf_of(uint32_t node) const {
  const std::span<const LeafRow> found = rows_of(leaves, node, &LeafRow::node);
  return found.empty() ? nullptr : found.data();
}

bool Snapshot::requires_grad(const EdgeRow& edge) const {
  const LeafRow* const leaf = leaf_of(edge.to);
  return leaf == nullptr || leaf->requires_grad;
}

uint64_t Snapshot::saved_bytes() const {
  uint64_t sum = 0;
  for (const uint64_t bytes : storages) sum += bytes;
  return sum;
}

size_t Snapshot::memory_bytes() const {
  size_t sum = bytes_of(nodes) + bytes_of(outputs) + bytes_of(edges) + bytes_of(leaves) +
               bytes_of(saved) + bytes_of(hooks) + bytes_of(views) + bytes_of(roots) +
               bytes_of(modules) + bytes_of(times) + bytes_of(attribute_sets) + bytes_of(storages) +
               bytes_of(shapes) + bytes_of(strings);
  for (const auto& set : attribute_sets) sum += bytes_of(set);
  for (const auto& shape : shapes) sum += bytes_of(shape);
  for (const auto& text : strings) sum += text.capacity();
  return sum;
}

GradientEdge root_edge(const Tensor& root) {
  if (!root.defined()) throw ValueError("graph: needs defined tensors, got an undefined one");
  if (!root.requires_grad()) {
    throw AutogradError(str("graph: needs roots that require a gradient, got one", naming_of(root),
                            " that does not: ", autograd::explain_origin(root)));
  }
  return get_gradient_edge(root);
}

Snapshot take_snapshot(std::span<const GradientEdge> roots, const SnapshotOptions& options) {
  if (roots.empty()) throw ValueError("graph: needs at least one root, got none");
  for (const GradientEdge& root : roots) {
    if (root.node.get() == nullptr || root.output_nr >= root.node->output_count()) {
      throw ValueError(
          "graph: needs edges that lead to an output of a node, got one that does not");
    }
  }
  return Builder(roots, options).build();
}

Snapshot take_snapshot(std::span<const Tensor> roots, const SnapshotOptions& options) {
  std::vector<GradientEdge> edges;
  for (const Tensor& root : roots) edges.push_back(root_edge(root));
  return take_snapshot(edges, options);
}

}  // namespace ebb::graph
