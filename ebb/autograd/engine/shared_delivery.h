// ebb/autograd/engine/shared_delivery.h -- how one of several threads of a run delivers gradients.
//
// The last gradient that a node waits for makes it ready, whoever brings it. Until then threads may
// meet at a node: its count is atomic, and what comes early waits in the slot (slot.h).
#pragma once

#include <atomic>
#include <cassert>
#include <utility>

#include "ebb/autograd/engine/node_step.h"
#include "ebb/autograd/history/slot.h"

namespace ebb::autograd {

/// `Derived` has what NodeStepper needs but deliver(), and make_ready(node), arrive(grad, node),
/// sum_waiting(node), and add_last() and add_early(), which put a gradient into a slot: while
/// nobody else looks at the node, and while others may.
template <typename Derived>
class SharedDelivery : public NodeStepper<Derived> {
 protected:
  friend NodeStepper<Derived>;

  void deliver(const Node& node, size_t index, const Edge& edge, Tensor& grad) {
    Node& next = *edge.node;
    const std::atomic_ref<uint32_t> state(self().core().scratch().state(next));
    // Acquire: whoever counted down before has put its gradient there.
    uint32_t seen = state.load(std::memory_order_acquire);
    if (!self().core().takes(edge)) return;
    assert((seen & NodeState::kCountMask) != 0);  // nobody sends twice
    if (grad.defined()) {
      const OutputMeta& meta = next.output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) [[unlikely]] {
        grad = conform(std::move(grad), meta, node, index);
      }
      self().arrive(grad, next);
    }
    const SlotOrder order{node.sequence(), static_cast<uint32_t>(index)};
    if ((seen & NodeState::kCountMask) == 1) {
      // The only one left: nobody else looks at the node.
      if (grad.defined()) self().add_last(next, edge.index, std::move(grad), order);
      state.store(seen - 1, std::memory_order_relaxed);
    } else {
      if (grad.defined()) self().add_early(next, edge.index, std::move(grad), order);
      seen = state.fetch_sub(1, std::memory_order_acq_rel);
      if ((seen & NodeState::kCountMask) != 1) return;
    }
    if ((seen & NodeState::kWaits) != 0) self().sum_waiting(next);
    self().make_ready(next);
  }

  void add_last(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    TensorImpl*& slot = self().core().scratch().slots(node)[index];
    if (has_waiting(slot)) {
      waiting_of(slot).add(std::move(grad), order);
    } else if (slot == nullptr) {
      slot = grad.leak();
    } else {
      add_to_filled_slot(slot, std::move(grad), order);
    }
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace ebb::autograd
