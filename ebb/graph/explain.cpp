// ebb/graph/explain.cpp -- looks for inputs in a snapshot, and for cuts where they are not.
#include "ebb/graph/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/watch/cut_notes.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/error.h"
#include "ebb/graph/cut_search.h"
#include "ebb/graph/reach.h"
#include "ebb/graph/routes.h"
#include "ebb/graph/snapshot.h"

namespace ebb::graph {
namespace {

using autograd::Cut;
using autograd::CutNotes;
using autograd::Node;
using autograd::NoteSource;
using autograd::Origin;

/// Where the gradient of an input arrives in a snapshot.
struct Place {
  uint32_t node, output;
};

std::vector<Tensor> recorded_among(std::span<const Tensor> outputs) {
  std::vector<Tensor> found;
  for (const Tensor& output : outputs) {
    if (!output.defined()) throw ValueError("explain: needs defined tensors, got an undefined one");
    if (output.requires_grad()) found.push_back(output);
  }
  if (outputs.empty()) throw ValueError("explain: needs at least one output, got none");
  return found;
}

/// What is recorded behind the outputs, and where the inputs are in it.
class Graph {
 public:
  Graph(std::span<const Tensor> roots, std::span<const Tensor> inputs) {
    std::vector<std::pair<std::string, Tensor>> names;
    for (size_t index = 0; index < inputs.size(); ++index) {
      if (!inputs[index].defined()) {
        throw ValueError("explain: needs defined tensors, got an undefined one");
      }
      if (first_.emplace(inputs[index].impl(), index).second) {
        names.emplace_back(std::to_string(index), inputs[index]);
      }
    }
    if (roots.empty()) return;
    snapshot_ = take_snapshot(roots, {.names = names, .uses_own_names = false});
    for (const LeafRow& leaf : snapshot_.leaves) note_place(leaf.name, {leaf.node, 0});
    for (const OutputRow& out : snapshot_.outputs) {
      if (out.name != kNone) note_place(out.name, {out.node, out.index});
    }
    hooks_.resize(snapshot_.nodes.size());
    for (const HookRow& row : snapshot_.hooks) {
      hooks_[row.node] = row.tensor + row.pre + row.post + row.post_accumulate;
    }
  }

  const Snapshot& snapshot() const { return snapshot_; }
  bool is_empty() const { return snapshot_.nodes.empty(); }

  /// Nothing if no gradient arrives there.
  std::optional<Place> place_of(const Tensor& input) const {
    const auto found = places_.find(first_.at(input.impl()));
    if (found == places_.end()) return std::nullopt;
    const Place place = found->second;
    if (is_leaf(place.node)) return place;
    const auto is_there = [&](uint32_t node, uint32_t output) {
      return node == place.node && output == place.output;
    };
    const bool arrives =
        std::any_of(snapshot_.edges.begin(), snapshot_.edges.end(),
                    [&](const EdgeRow& edge) { return is_there(edge.to, edge.output); }) ||
        std::any_of(snapshot_.roots.begin(), snapshot_.roots.end(),
                    [&](const RootRow& root) { return is_there(root.node, root.output); });
    return arrives ? std::optional(place) : std::nullopt;
  }

  Step step(uint32_t node) const {
    const NodeRow& row = snapshot_.nodes[node];
    std::string module;
    if (row.module != kNone) {
      const ModuleRow& in = snapshot_.modules[row.module];
      module = snapshot_.strings[in.path];
      if (module.empty()) module = snapshot_.strings[in.type];
    }
    return {.op = std::string(snapshot_.name_of(node)),
            .module = std::move(module),
            .place = row.location,
            .is_freed = row.is_freed,
            .hooks = hooks_[node]};
  }
  bool is_leaf(uint32_t node) const {
    return snapshot_.nodes[node].kind == autograd::NodeKind::leaf;
  }
  uint32_t hooks(uint32_t node) const { return hooks_[node]; }

 private:
  void note_place(uint32_t name, Place place) {
    const std::string& text = snapshot_.strings[name];
    if (!text.empty()) places_.emplace(std::stoul(text), place);
  }

  Snapshot snapshot_;
  std::unordered_map<const TensorImpl*, size_t> first_;  // of tensors given more than once
  std::unordered_map<size_t, Place> places_;
  std::vector<uint32_t> hooks_;
};

Step step_of_origin(Origin origin) {
  return {.op = "",
          .module = "",
          .place = autograd::place_of(origin),
          .kind = StepKind::unrecorded,
          .cut = static_cast<Cut>(origin >> 30)};
}

/// Values without history that went into the graph, among those that nodes saved.
class SavedOrigins final : public autograd::SavedVisitor {
 public:
  /// One of them, and the number of the node that saved it.
  struct Value {
    ByteRegion region;
    Origin origin;
    uint32_t node;
  };

  explicit SavedOrigins(std::span<const Tensor> roots) {
    std::vector<autograd::GradientEdge> edges;
    for (const Tensor& root : roots) edges.push_back(ebb::get_gradient_edge(root));
    const Reach reach(edges);
    for (Node* const node : reach.nodes()) {
      const autograd::SavedLock lock(*node);
      node->visit_saved(*this);
      ++node_;
    }
  }

  void visit(const char* /*name*/, autograd::SavedTensor& saved) override {
    if (!saved.defined() || saved.is_packed()) return;
    const TensorImpl* const impl = saved.impl();
    const Origin origin = impl->producer == nullptr ? impl->output_index : 0;
    if (static_cast<Cut>(origin >> 30) == Cut::never_asked) return;
    ++times_[origin];
    values_.emplace(impl->storage, Value{region_of(*impl), origin, node_});
  }

  std::vector<Step> steps() const {
    std::vector<Step> found;
    for (const auto& [origin, times] : times_) {
      found.push_back(step_of_origin(origin));
      found.back().times = times;
    }
    return found;
  }

  /// A value that shows memory of `input`: it is the input's own, without its history.
  const Value* of(const Tensor& input) const {
    const auto [first, last] = values_.equal_range(input.impl()->storage);
    const ByteRegion own = region_of(*input.impl());
    const auto shows_it = [&](const auto& entry) { return may_meet(own, {}, entry.second.region); };
    const auto found = std::find_if(first, last, shows_it);
    return found == last ? nullptr : &found->second;
  }

 private:
  uint32_t node_ = 0;
  std::map<Origin, uint32_t> times_;
  std::unordered_multimap<const Storage*, Value> values_;
};

std::vector<Step> origins_of(std::span<const Tensor> outputs) {
  std::vector<Step> cuts;
  for (const Tensor& output : outputs) {
    const Origin origin = autograd::origin_of(output);
    if (static_cast<Cut>(origin >> 30) != Cut::never_asked) add_once(cuts, step_of_origin(origin));
  }
  return cuts;
}

/// Why an input does not require a gradient, if that is known.
std::vector<Step> refusals_of(const Tensor& input) {
  std::vector<Step> found = origins_of({&input, 1});
  const LocationId frozen = autograd::frozen_at(input);
  if (frozen != 0) {
    found.push_back(
        {.op = "requires_grad_", .module = "", .place = frozen, .kind = StepKind::unrecorded});
  }
  return found;
}

void describe_ways(const Graph& graph, Place place, size_t most_paths, Explanation& found) {
  const Snapshot& snapshot = graph.snapshot();
  const Routes routes = routes_to(snapshot, place.node, place.output);
  for (const uint32_t root : root_nodes(snapshot)) {
    const uint64_t ways = routes.ways[root];
    found.ways = found.ways > UINT64_MAX - ways ? UINT64_MAX : found.ways + ways;
  }
  for (const std::vector<uint32_t>& way : shortest_ways(snapshot, routes, most_paths)) {
    std::vector<Step>& path = found.paths.emplace_back();
    for (auto node = way.rbegin(); node != way.rend(); ++node) {
      if (!graph.is_leaf(*node)) path.push_back(graph.step(*node));
    }
  }
  for (uint32_t node = static_cast<uint32_t>(snapshot.nodes.size()); node-- > 0;) {
    if (routes.ways[node] == 0) continue;
    if (snapshot.nodes[node].is_freed) found.freed.push_back(graph.step(node));
    if (graph.hooks(node) > 0) found.hooked.push_back(graph.step(node));
  }
}

/// From a value of the input that was cut off, by the node that saved it, to a root.
std::vector<Step> trail_of(const Graph& graph, const SavedOrigins::Value& value) {
  std::vector<Step> trail{step_of_origin(value.origin)};
  const Routes routes = routes_to(graph.snapshot(), value.node, 0);
  for (const std::vector<uint32_t>& way : shortest_ways(graph.snapshot(), routes, 1)) {
    for (auto node = way.rbegin(); node != way.rend(); ++node) trail.push_back(graph.step(*node));
  }
  return trail;
}

/// Why the input is not in the graph.
void describe_cuts(const Graph& graph, std::span<const Tensor> outputs,
                   std::span<const Tensor> roots, const Tensor& input, Explanation& found) {
  {
    const CutSearch search(outputs);
    NoteSource source = 0;
    if (search.find(input, source)) {
      found.trail = search.trail_from(source);
      found.cuts = search.cuts_of(source);
      found.left = search.left_from(source);
      if (!found.left.empty()) found.entered = search.entered();
    }
  }
  if (found.cuts.empty() && roots.empty()) {
    found.cuts = origins_of(outputs);
    found.cuts_are_candidates = true;
  } else if (found.cuts.empty()) {
    const SavedOrigins saved(roots);
    const SavedOrigins::Value* const own = saved.of(input);
    if (own != nullptr) found.trail = trail_of(graph, *own);
    found.cuts = own != nullptr ? std::vector<Step>{found.trail[0]} : saved.steps();
    found.cuts_are_candidates = own == nullptr;
  }
  found.reason = !found.trail.empty()  ? Reason::cut
                 : roots.empty()       ? Reason::output_without_history
                 : !found.left.empty() ? Reason::left
                                       : Reason::not_used;
}

}  // namespace

static_assert(static_cast<int>(StepKind::entered) == static_cast<int>(autograd::NoteKind::entered));

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::gets_gradient: return "gets_gradient";
    case Reason::requires_no_grad: return "requires_no_grad";
    case Reason::output_without_history: return "output_without_history";
    case Reason::cut: return "cut";
    case Reason::left: return "left";
    case Reason::not_used: return "not_used";
  }
  __builtin_unreachable();
}

Explanation explain(std::span<const Tensor> outputs, const Tensor& input, size_t most_paths) {
  const std::vector<Tensor> roots = recorded_among(outputs);
  const Graph graph(roots, {&input, 1});
  Explanation found;
  if (!input.requires_grad()) {
    found.reason = Reason::requires_no_grad;
    found.cuts = refusals_of(input);
  } else if (const auto place = graph.place_of(input); place.has_value()) {
    found.reason = Reason::gets_gradient;
    describe_ways(graph, *place, most_paths, found);
  } else {
    describe_cuts(graph, outputs, roots, input, found);
  }
  return found;
}

std::vector<InputSummary> explain_all(std::span<const Tensor> outputs,
                                      std::span<const Tensor> inputs) {
  const std::vector<Tensor> roots = recorded_among(outputs);
  const Graph graph(roots, inputs);
  const Routes routes = graph.is_empty() ? Routes() : routes_from_roots(graph.snapshot());
  std::vector<InputSummary> found(inputs.size());
  std::vector<size_t> missing;
  for (size_t index = 0; index < inputs.size(); ++index) {
    InputSummary& one = found[index];
    const auto place = graph.place_of(inputs[index]);
    if (!inputs[index].requires_grad()) {
      one.reason = Reason::requires_no_grad;
      const std::vector<Step> refusals = refusals_of(inputs[index]);
      if (!refusals.empty()) one.step = refusals.front();
    } else if (place.has_value()) {
      one.reason = Reason::gets_gradient;
      one.ways = routes.ways[place->node];
      const uint32_t user = routes.next[place->node];
      if (user != kNone) one.step = graph.step(user);
    } else {
      missing.push_back(index);
    }
  }
  if (missing.empty()) return found;
  const SavedOrigins saved(roots);
  const CutSearch search(outputs);
  for (const size_t index : missing) {
    NoteSource source = 0;
    bool is_cut = search.find(inputs[index], source) && search.first_cut(source, found[index].step);
    if (const auto* const own = is_cut ? nullptr : saved.of(inputs[index]); own != nullptr) {
      found[index].step = step_of_origin(own->origin);
      is_cut = true;
    }
    found[index].reason = is_cut          ? Reason::cut
                          : roots.empty() ? Reason::output_without_history
                                          : Reason::not_used;
  }
  return found;
}

std::vector<Tensor> other_leaves(std::span<const Tensor> outputs, std::span<const Tensor> inputs) {
  std::vector<autograd::GradientEdge> edges;
  for (const Tensor& root : recorded_among(outputs)) edges.push_back(ebb::get_gradient_edge(root));
  std::unordered_set<const TensorImpl*> known;
  for (const Tensor& input : inputs) known.insert(input.impl());
  std::vector<Tensor> found;
  const Reach reach(edges);
  for (Node* const node : reach.nodes()) {
    if (node->kind() != autograd::NodeKind::leaf) continue;
    Tensor leaf = static_cast<autograd::AccumulateGrad&>(*node).share_leaf();
    if (!leaf.defined() || !leaf.requires_grad() || known.count(leaf.impl()) != 0) continue;
    found.push_back(std::move(leaf));
  }
  return found;
}

std::string to_string(const Explanation& explanation) {
  std::string text = name_of(explanation.reason);
  if (explanation.reason == Reason::gets_gradient) {
    text += str(": ", explanation.ways, explanation.ways == 1 ? " way" : " ways");
  }
  const auto append = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      text += str("\n  ", step.op.empty() ? "a cut" : step.op, " at ", line_of(step.place));
    }
  };
  append(!explanation.paths.empty()   ? explanation.paths.front()
         : !explanation.trail.empty() ? explanation.trail
                                      : explanation.cuts);
  return text;
}

}  // namespace ebb::graph
