// ebb/autograd/engine/run_core.h -- what takes part in a run: which nodes, which edges, how many
// gradients.
//
// Discovery walks the graph once, with a stack of its own, and leaves the counts in the scratch.
// The rest is questions about it, which hooks may ask while the run goes on, on any thread of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/engine/run_request.h"
#include "ebb/autograd/engine/run_state.h"
#include "ebb/autograd/engine/scratch.h"
#include "ebb/autograd/history/gradients/slot.h"
#include "ebb/autograd/hooks/active_run.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::autograd {

template <typename Scratch>
class RunCore final : public RestrictedRun, public ActiveRun {
 public:
  RunCore(const RunRequest& request, RunBuffers& buffers, const RunNumber* number)
      : request_(request), buffers_(buffers), scratch_(number) {}

  const RunRequest& request() const { return request_; }
  Scratch& scratch() const { return scratch_; }
  /// Atomic, since another thread of the run may be counting down the same word.
  uint32_t state_of(const Node& node) const {
    const std::atomic_ref<uint32_t> state(scratch_.state(const_cast<Node&>(node)));
    return state.load(std::memory_order_relaxed);
  }

  bool is_needed(const Edge& edge) const override { return takes(edge); }

  bool keeps_graph() const override { return !request_.releases; }
  bool will_reach(const Node& node) const override {
    return scratch_.is_visited(const_cast<Node&>(node)) && has_mark(node, NodeState::kNeeded);
  }
  bool will_execute(const Node& node) const override {
    return scratch_.is_visited(const_cast<Node&>(node)) && has_mark(node, NodeState::kExecutes);
  }

  bool will_take(const Edge& edge) const override { return takes(edge); }
  void hold(Node& node) override {
    const std::atomic_ref<uint32_t> state(scratch_.state(node));
    const uint32_t seen = state.load(std::memory_order_relaxed);
    if ((seen & NodeState::kCountMask) == NodeState::kCountMask) {
      state.store(seen - NodeState::kCountMask + 1);  // a root whose turn it is
    } else {
      state.fetch_add(1, std::memory_order_relaxed);
    }
  }
  Tensor take_gradient(const Edge& place) override {
    TensorImpl*& slot = scratch_.slots(*place.node)[place.index];
    if (has_waiting(slot)) sum_waiting(slot);
    return Tensor::adopt(std::exchange(slot, nullptr));
  }
  using ActiveRun::call_callbacks;
  using ActiveRun::has_notes;
  using ActiveRun::note_current;
  using ActiveRun::open_stalled_gate;
  using ActiveRun::take_sent;

  /// Whether a root's seed goes anywhere.
  bool starts(const Root& root) const {
    return !request_.is_restricted() ||
           (!is_cut(root.node.get(), root.index) && has_mark(*root.node, NodeState::kNeeded));
  }
  /// Then the buffers say where.
  bool has_device_nodes() const { return has_device_nodes_; }

  [[gnu::noinline]] void capture(const Node& node, const Tensor* grads) {
    Restriction& restriction = *request_.restriction;
    const auto [first, last] = captures_of(node);
    for (auto entry = first; entry != last; ++entry) {
      restriction.captured[entry->second] = grads[restriction.captures[entry->second].second];
    }
  }

  /// Whether a gradient passes along the edge, which belongs to a visited node.
  [[gnu::always_inline]] bool takes(const Edge& edge) const {
    return !request_.is_restricted() || takes_marked(edge);
  }

  /// False if another run has a node of this graph; nothing has happened then. With `is_alone`, no
  /// other run is in progress.
  bool discover(bool is_alone) {
    if (!has_plugins()) [[likely]]
      return discover_with<false>(is_alone);
    buffers_.places.clear();
    return discover_with<true>(is_alone);
  }

  std::vector<NodePtr<Node>> execution_order() const override {
    std::unordered_map<Node*, uint32_t> pending = count_edges();
    std::vector<NodePtr<Node>> order;
    std::vector<Node*> heap;
    ReadyNodes ready(heap);
    const auto make_ready = [&](Node* node) {
      if (node->edge_count() > 0) return ready.push(node);
      if (will_execute(*node)) order.push_back(NodePtr<Node>::share(node));
    };
    for (const Root& root : buffers_.roots) {
      const auto entry = pending.find(root.node.get());
      if (entry == pending.end() || entry->second != 0) continue;
      entry->second = UINT32_MAX;  // several roots may be outputs of one node
      make_ready(root.node.get());
    }
    while (Node* const node = ready.pop()) {
      if (!will_execute(*node)) continue;
      order.push_back(NodePtr<Node>::share(node));
      for (const Edge& edge : node->edges()) {
        if (edge.node != nullptr && takes(edge) && --pending[edge.node] == 0) make_ready(edge.node);
      }
    }
    return order;
  }

 private:
  /// The captures of one node: pairs of it and a position.
  auto captures_of(const Node& node) const {
    return std::equal_range(wanted_->captures.begin(), wanted_->captures.end(),
                            std::pair(&node, size_t{0}),
                            [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  bool is_cut(const Node* node, uint32_t index) const {
    const auto& cuts = wanted_->cuts;
    return !cuts.empty() && std::binary_search(cuts.begin(), cuts.end(), std::pair(node, index));
  }

  /// Whether something wanted may lie along the edge.
  bool may_pass(const Edge& edge) const {
    return edge.node->sequence() >= wanted_->least && !is_cut(edge.node, edge.index);
  }

  [[gnu::noinline]] bool takes_marked(const Edge& edge) const {
    return may_pass(edge) && (state_of(*edge.node) & NodeState::kNeeded) != 0;
  }

  bool has_mark(const Node& node, uint32_t mark) const {
    return !request_.is_restricted() || (state_of(node) & mark) != 0;
  }

  struct Frame {
    Node* node;
    uint32_t next_edge;
  };

  template <bool kSeesDevices>
  [[gnu::always_inline]] bool discover_with(bool is_alone) {
    if (!request_.is_restricted()) {
      return is_alone ? discover_all<false, kSeesDevices>() : discover_all<true, kSeesDevices>();
    }
    return discover_marked<kSeesDevices>();
  }

  template <bool kSeesDevices>
  [[gnu::noinline]] bool discover_marked() {
    Restriction& asked = *request_.restriction;
    asked.captured.assign(asked.captures.size(), {});
    wanted_.emplace();
    auto& [captures, accumulators, cuts, least] = *wanted_;
    for (size_t position = 0; position < asked.captures.size(); ++position) {
      captures.emplace_back(asked.captures[position].first.get(), position);
    }
    std::sort(captures.begin(), captures.end());
    for (const NodePtr<Node>& node : asked.accumulators) accumulators.push_back(node.get());
    std::sort(accumulators.begin(), accumulators.end());
    for (const auto& [node, index] : asked.cuts) cuts.emplace_back(node.get(), index);
    std::sort(cuts.begin(), cuts.end());
    least = least_wanted();
    return discover_needed<kSeesDevices>();
  }

  /// The smallest number among the nodes that the run is for. Numbers fall along every edge, so
  /// none with a smaller one leads there.
  uint64_t least_wanted() const {
    if (request_.restriction->other_leaves) return 0;
    uint64_t least = UINT64_MAX;
    for (const auto& [node, position] : wanted_->captures)
      least = std::min(least, node->sequence());
    for (const Node* const node : wanted_->accumulators) least = std::min(least, node->sequence());
    return least;
  }

  /// The number of edges into each node that takes part: the run uses its own counts up.
  std::unordered_map<Node*, uint32_t> count_edges() const {
    std::unordered_map<Node*, uint32_t> pending;
    std::vector<Node*> stack;
    const auto visit = [&](Node* node) {
      const auto [entry, is_new] = pending.try_emplace(node, 0);
      if (is_new) stack.push_back(node);
      return entry;
    };
    for (const Root& root : buffers_.roots) {
      if (will_reach(*root.node)) visit(root.node.get());
    }
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->edges()) {
        if (edge.node != nullptr && takes(edge)) ++visit(edge.node)->second;
      }
    }
    return pending;
  }

  /// Visits everything behind the roots and counts the edges into each node.
  // Flat: the compiler would not inline push_back() into all its instances.
  template <bool kHasOthers, bool kSeesDevices>
  [[gnu::flatten]] bool discover_all() {
    std::vector<Node*>& stack = buffers_.stack;
    for (const Root& root : buffers_.roots) {
      if (kHasOthers && scratch_.is_taken(*root.node)) return false;
      if (!scratch_.visit(*root.node)) continue;
      if constexpr (kSeesDevices) see_place(*root.node);
      stack.push_back(root.node.get());
    }
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      Edge* const edges = NodeAccess::edges(*node);
      for (size_t index = 0, count = node->edge_count(); index < count; ++index) {
        Node* const next = edges[index].node;
        if (next == nullptr) continue;
        if (kHasOthers && scratch_.is_taken(*next)) return false;
        if (scratch_.visit(*next)) {
          if constexpr (kSeesDevices) see_place(*next);
          if (next->edge_count() > 0) stack.push_back(next);
        }
        ++scratch_.state(*next);
      }
    }
    return true;
  }

  /// Notes where a node runs, unless that is where all nodes of the CPU do.
  void see_place(const Node& node) {
    const OutputMeta& meta = node.output_meta(0);
    if (meta.device == Device{} && (meta.context & kHasStreams) == 0) return;
    const Device device = revealed(meta.device);
    RunPlaces& places = buffers_.places;
    if (!is_on_host(device) && !is_meta(device)) {
      has_device_nodes_ = true;
      places.add_device(device);
    }
    if (node.edge_count() > 0) places.add_streams(streams_of(meta.context));
  }

  template <bool kSeesDevices>
  void enter(Node& node, std::vector<Frame>& path) {
    if constexpr (kSeesDevices) see_place(node);
    path.push_back({&node, 0});
  }

  /// The same, depth first, counting only edges from which a capture can be reached.
  template <bool kSeesDevices>
  bool discover_needed() {
    std::vector<Frame> path;
    for (const Root& root : buffers_.roots) {
      if (is_cut(root.node.get(), root.index)) continue;
      if (scratch_.is_taken(*root.node)) return false;
      if (scratch_.visit(*root.node)) enter<kSeesDevices>(*root.node, path);
      while (!path.empty()) {
        Frame& frame = path.back();
        if (frame.next_edge == frame.node->edge_count()) {
          finish_discovery(*frame.node);
          path.pop_back();
          continue;
        }
        const Edge& edge = frame.node->edges()[frame.next_edge++];
        if (edge.node == nullptr || !may_pass(edge)) continue;
        if (scratch_.is_taken(*edge.node)) return false;
        if (scratch_.visit(*edge.node)) enter<kSeesDevices>(*edge.node, path);
      }
    }
    return true;
  }

  /// All that lies behind `node` is marked: mark the node itself.
  void finish_discovery(Node& node) {
    uint32_t marks = 0;
    const auto [first, last] = captures_of(node);
    if (first != last) marks |= NodeState::kNeeded | NodeState::kCaptured;
    const bool accumulates =
        std::binary_search(wanted_->accumulators.begin(), wanted_->accumulators.end(), &node) ||
        (request_.restriction->other_leaves && node.edge_count() == 0 && first == last);
    if (accumulates) marks |= NodeState::kNeeded | NodeState::kExecutes;
    for (const Edge& edge : node.edges()) {
      if (edge.node == nullptr || !may_pass(edge)) continue;
      uint32_t& next = scratch_.state(*edge.node);
      if ((next & NodeState::kNeeded) == 0) continue;
      ++next;
      marks |= NodeState::kNeeded | NodeState::kExecutes;
    }
    scratch_.state(node) |= marks;
  }

  const RunRequest& request_;
  RunBuffers& buffers_;
  mutable Scratch scratch_;
  bool has_device_nodes_ = false;

  /// What a restricted run is for, sorted.
  struct Wanted {
    std::vector<std::pair<const Node*, size_t>> captures;  // node and position
    std::vector<const Node*> accumulators;
    std::vector<std::pair<const Node*, uint32_t>> cuts;  // node and output
    uint64_t least = 0;                                  // nodes with smaller numbers take no part
  };
  std::optional<Wanted> wanted_;
};

}  // namespace ebb::autograd
