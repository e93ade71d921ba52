// ebb/autograd/engine/lane_in_crew.h -- what a lane does that is one of several.
//
// Lanes may meet at a node: its count is atomic, the last gradient that it waits for makes it
// ready, whoever brings it, and what comes early waits in the slot (slot.h), so that sums are
// formed in the order of one thread. Start reading at run_nodes().
#pragma once

#include <atomic>
#include <cassert>
#include <mutex>
#include <utility>

#include "ebb/autograd/engine/lane.h"
#include "ebb/core/tensor/device_memory.h"

namespace ebb::autograd {

template <typename Scratch>
template <typename Look>
void Lane<Scratch>::run_nodes(Look&& look) {
  uint64_t since = now_ns();
  uint64_t count = 0;
  while (true) {
    Node* node = crew_->board.stops() ? nullptr : ready_.pop();
    if (node == nullptr) {
      note_help(since, std::exchange(count, 0));
      node = crew_->board.take(role_, list_);
      if (node == nullptr) return;  // a worker's crew and run may be gone
      since = now_ns();
    }
    if (is_caller() && pacer().is_due()) {
      node = look(node);
      if (node == nullptr) continue;
    }
    run_in_crew(*node);
    ++count;
    if (crew_->board.is_wanted() && ready_.has_surplus()) {
      crew_->board.offer(ready_.take_surplus());
    }
  }
}

template <typename Scratch>
void Lane<Scratch>::note_help(uint64_t since, uint64_t count) {
  if (role_ == LaneRole::worker) return note_device_nodes(count);
  if (is_caller()) return;
  crew_->helped_ns.fetch_add(now_ns() - since, std::memory_order_relaxed);
  crew_->nodes_by_helpers.fetch_add(count, std::memory_order_relaxed);
}

template <typename Scratch>
void Lane<Scratch>::run_in_crew(Node& node) {
  if (crew_->is_team) {
    if (!passes_on(node)) step_or_fail(node);
  } else {
    const StreamSetScope streams(streams_for(node));
    step_or_fail(node);
  }
}

template <typename Scratch>
void Lane<Scratch>::step_or_fail(Node& node) {
  try {
    step_in_crew(node);
  } catch (...) {
    crew_->board.fail(node.sequence());
  }
}

template <typename Scratch>
bool Lane<Scratch>::passes_on(Node& node) {
  if (is_large(node) || touches_device(node)) {
    crew_->board.set_aside(&node);
  } else if (!is_caller() && !is_plain(node)) {
    crew_->push(&node);
  } else {
    return false;
  }
  return true;
}

template <typename Scratch>
void Lane<Scratch>::deliver_with_care(const Node& node, size_t index, const Edge& edge,
                                      Tensor& grad) {
  if (!run_.takes(edge)) return;
  if (crew_ == nullptr) return deliver_alone(node, index, edge, grad);
  const Node& next = *edge.node;
  if (grad.defined()) conform(grad, next.output_meta(edge.index), node, index);
  if (crew_->is_team) return deliver_in_crew(node, index, edge, grad);
  if (grad.defined()) arrive(grad, next);
  const StreamSetScope streams(streams_for(next));
  deliver_in_crew(node, index, edge, grad);
}

template <typename Scratch>
void Lane<Scratch>::deliver_in_crew(const Node& node, size_t index, const Edge& edge,
                                    Tensor& grad) {
  Node& next = *edge.node;
  const std::atomic_ref<uint32_t> state(scratch().state(next));
  // Acquire: whoever counted down before has put its gradient there.
  uint32_t seen = state.load(std::memory_order_acquire);
  assert((seen & NodeState::kCountMask) != 0);  // nobody sends twice
  const SlotOrder order{node.sequence(), static_cast<uint32_t>(index)};
  if ((seen & NodeState::kCountMask) == 1) {
    // The only one left: nobody else looks at the node.
    if (grad.defined()) add_to_slot(next, edge.index, std::move(grad), order);
    state.store(seen - 1, std::memory_order_relaxed);
  } else {
    if (grad.defined()) add_early(next, edge.index, std::move(grad), order);
    seen = state.fetch_sub(1, std::memory_order_acq_rel);
    if ((seen & NodeState::kCountMask) != 1) return;
  }
  if ((seen & NodeState::kWaits) != 0) sum_all_waiting(next);
  make_ready_in_crew(next);
}

template <typename Scratch>
void Lane<Scratch>::make_ready_in_crew(Node& node) {
  const bool is_leaf = node.edge_count() == 0;
  if (is_leaf && (is_caller() || is_plain(node))) {
    step_in_crew(node);
  } else if (crew_->is_team && !is_leaf) {
    ready_.push(&node);
  } else {
    crew_->push(&node);
  }
}

template <typename Scratch>
void Lane<Scratch>::arrive(const Tensor& grad, const Node& node) {
  const Device device = grad.device();
  if (is_on_host(device)) return;
  const Stream from = current_stream(device);
  const Stream to = stream_in(streams_for(node), device);
  if (from == to) return;
  order_streams(from, to);
  record_stream(grad, to);
}

template <typename Scratch>
void Lane<Scratch>::add_early(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
  const int64_t bytes = grad.numel() * item_size(grad.dtype());
  const std::lock_guard lock(crew_->board.mutex());
  TensorImpl*& slot = scratch().slots(node)[index];
  wait_in_slot(slot, std::move(grad), order);
  // The lanes of a team have nodes that the board knows nothing of.
  if (!crew_->is_team) waiting_of(slot).sum_down_to(crew_->board.horizon());
  std::atomic_ref<uint32_t>(scratch().state(node))
      .fetch_or(NodeState::kWaits, std::memory_order_relaxed);
  const bool is_too_much = waiting_of(slot).count() > 1 && crew_->waiting_bytes.add(bytes);
  if (is_too_much) crew_->board.stop_locked();
}

// Leaves get the gradients of a team when it has parted.
template <typename Scratch>
void Lane<Scratch>::accumulate_carefully(AccumulateGrad& leaf, Tensor grad) {
  if (request_.care.logs()) log_node(leaf, {&grad, 1});
  const bool waits_for_team = crew_ != nullptr && crew_->is_team && is_plain(leaf);
  if (waits_for_team && crew_->waiting_bytes.add(grad)) crew_->board.stop();
  if (!waits_for_team && request_.care.adds_early() && accumulate_noted(leaf, grad)) {
    std::atomic_ref<uint32_t>(scratch().state(leaf))
        .fetch_or(NodeState::kAdded, std::memory_order_relaxed);
  } else {
    (crew_ != nullptr ? buffers_.kept : buffers_.staged).emplace_back(leaf, std::move(grad));
  }
}

}  // namespace ebb::autograd
