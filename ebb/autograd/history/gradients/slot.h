// ebb/autograd/history/gradients/slot.h -- a gradient slot: empty, a sum so far, or gradients that
// wait for others.
//
// Sums must not depend on which thread was faster: the gradients of a slot are added in falling
// sequence number of the nodes that sent them. A run on one thread sends them in that order and
// adds at once. Where several threads deliver, a gradient that may be early waits: the slot then
// holds a WaitingGradients (told by the lowest bit of the pointer) until all have come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Where a gradient stands in the order of its slot.
struct SlotOrder {
  uint64_t sequence;  // of the node that sent it: larger ones come first
  uint32_t edge;      // of that node: smaller ones come first
};

/// Gradients of one slot that cannot be added yet.
class WaitingGradients {
 public:
  /// Keeps `grad` for later.
  void add(Tensor grad, SlotOrder order);
  /// Adds those that came from nodes numbered at least `sequence`, since none such will follow.
  void sum_down_to(uint64_t sequence);
  /// The sum of all; nothing is left.
  Tensor take_sum();
  size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    SlotOrder order;
    Tensor grad;
  };
  std::vector<Entry> entries_;  // falling order, but for those added since the last sum
};

inline bool has_waiting(const TensorImpl* slot) {
  return (reinterpret_cast<uintptr_t>(slot) & 1u) != 0;
}
inline WaitingGradients& waiting_of(TensorImpl* slot) {
  return *reinterpret_cast<WaitingGradients*>(reinterpret_cast<uintptr_t>(slot) & ~uintptr_t{1});
}

/// Lets `grad` wait in the slot, behind what was added up there before.
void wait_in_slot(TensorImpl*& slot, Tensor grad, SlotOrder order);
/// Adds `grad` to a slot that is not empty, in a run that sends gradients in order.
void add_to_filled_slot(TensorImpl*& slot, Tensor grad, SlotOrder order);
/// All gradients of the slot are there: makes it a plain sum.
void sum_waiting(TensorImpl*& slot);
/// Frees what a slot of a failed run held.
void release_slot(TensorImpl* slot) noexcept;

}  // namespace ebb::autograd
