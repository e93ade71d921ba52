// ebb/autograd/history/gradients/slot.cpp -- adding up the gradients of a slot in an order that is
// always the same.
#include "ebb/autograd/history/gradients/slot.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ebb/autograd/history/gradients/gradient_math.h"

namespace ebb::autograd {
namespace {

// What was added up so far comes before everything.
constexpr SlotOrder kFirst{UINT64_MAX, 0};

bool comes_before(const SlotOrder& a, const SlotOrder& b) {
  return a.sequence != b.sequence ? a.sequence > b.sequence : a.edge < b.edge;
}

TensorImpl* tagged(WaitingGradients* waiting) {
  return reinterpret_cast<TensorImpl*>(reinterpret_cast<uintptr_t>(waiting) | 1u);
}

}  // namespace

void WaitingGradients::add(Tensor grad, SlotOrder order) {
  entries_.push_back({order, std::move(grad)});
}

void WaitingGradients::sum_down_to(uint64_t sequence) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return comes_before(a.order, b.order); });
  const auto is_before = [&](const Entry& entry) { return entry.order.sequence >= sequence; };
  const auto end = std::find_if_not(entries_.begin(), entries_.end(), is_before);
  if (end - entries_.begin() < 2) return;
  Tensor sum = std::move(entries_.front().grad);
  for (auto entry = entries_.begin() + 1; entry != end; ++entry) {
    sum = add_gradients(std::move(sum), entry->grad);
  }
  entries_.front() = {kFirst, std::move(sum)};
  entries_.erase(entries_.begin() + 1, end);
}

Tensor WaitingGradients::take_sum() {
  sum_down_to(0);
  Tensor sum = entries_.empty() ? Tensor() : std::move(entries_.front().grad);
  entries_.clear();
  return sum;
}

void wait_in_slot(TensorImpl*& slot, Tensor grad, SlotOrder order) {
  if (!has_waiting(slot)) {
    auto waiting = std::make_unique<WaitingGradients>();
    if (slot != nullptr) waiting->add(Tensor::adopt(std::exchange(slot, nullptr)), kFirst);
    slot = tagged(waiting.release());
  }
  waiting_of(slot).add(std::move(grad), order);
}

void add_to_filled_slot(TensorImpl*& slot, Tensor grad, SlotOrder order) {
  if (has_waiting(slot)) {
    waiting_of(slot).add(std::move(grad), order);
    waiting_of(slot).sum_down_to(order.sequence);
    return;
  }
  Tensor sum = add_gradients(Tensor::adopt(std::exchange(slot, nullptr)), grad);
  slot = sum.leak();
}

void sum_waiting(TensorImpl*& slot) {
  if (!has_waiting(slot)) return;
  Tensor sum = waiting_of(slot).take_sum();
  delete &waiting_of(std::exchange(slot, nullptr));
  slot = sum.leak();
}

void release_slot(TensorImpl* slot) noexcept {
  if (slot == nullptr) return;
  if (has_waiting(slot)) {
    delete &waiting_of(slot);
  } else {
    slot->release();
  }
}

}  // namespace ebb::autograd
