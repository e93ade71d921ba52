// ebb/autograd/watch/slow_call.cpp -- see slow_call.h.
#include "ebb/autograd/watch/slow_call.h"

namespace ebb::autograd {

template class SlowCall<Tensor>;
template class SlowCall<std::vector<Tensor>>;
template class SlowCall<std::tuple<Tensor, Tensor>>;
template class SlowCall<std::tuple<Tensor, Tensor, Tensor>>;

uint32_t SlowCallBase::settle(uint32_t bits) const {
  for (const SlowOperand& one : operands_) {
    const bool is_missing = one.is_required && !one.tensor->defined();
    if (is_missing) check_defined(op_, {one.tensor}, {one.name});
  }
  uint32_t now = thread_state.modes;
  for (const SlowOperand& one : operands_) {
    autograd::settle(*one.tensor);
    if (one.tensor->defined()) now |= one.tensor->gate_bits();
  }
  autograd::settle(list_);
  for (const Tensor& one : list_) now |= one.gate_bits();
  return settled_bits(bits, now & gate::kMask & ~unseen_modes_);
}

void SlowCallBase::refuse_layouts() const {
  for (const SlowOperand& one : operands_) autograd::refuse_layouts(op_, one.name, *one.tensor);
  if (list_name_ != nullptr) autograd::refuse_layouts(op_, list_name_, list_);
}

std::vector<NamedTensor> SlowCallBase::named(const Tensor* written) const {
  std::vector<NamedTensor> found;
  for (const SlowOperand& one : operands_) {
    if (one.is_required && one.tensor != written) found.push_back({one.name, one.tensor});
  }
  return found;
}

/// The reason why an operand has no history.
Origin SlowCallBase::origin() const {
  for (const SlowOperand& one : operands_) {
    const Origin found = one.is_required ? origin_of(*one.tensor) : 0;
    if (found != 0) return found;
  }
  return 0;
}

void SlowCallBase::note_unrecorded(const Tensor& out, uint32_t bits) const {
  if ((bits & gate::kRequiresGrad) != 0) {
    return mark_cut(out, Cut::no_grad, current_location(return_address_));
  }
  const bool is_cut_view = (bits & (gate::kNoGrad | gate::kInference)) != 0 &&
                           (out.impl()->flags & TensorImpl::kView) != 0;
  if (is_cut_view) note_made_at(out, current_location(return_address_));
  if (const Origin found = origin(); found != 0) set_origin(out, found);
}

void SlowWrite::watched(bool scalars_are_finite) {
  OpWatch watch(op_, watched_bits_, nullptr);
  watch.before_write(self());
  run(watch.inner_bits());
  watch.see(self(), named(&self()), scalars_are_finite);
}

void SlowWrite::run(uint32_t bits) {
  if ((bits & gate::kWatched) != 0) [[unlikely]] {
    watched_bits_ = bits;
    return step_(context_, *this, SlowStep::watch);
  }
  if ((bits & gate::kUndefined) != 0) {
    bits = settle(bits);
    if (!is_recorded(bits)) check_unrecorded_write(op_, self());
  }
  if (meets_layouts(bits)) refuse_layouts();
  if ((bits & gate::kTangent) != 0) {
    tangent_bits_ = bits;
    return step_(context_, *this, SlowStep::push);
  }
  step_(context_, *this, is_recorded(bits) ? SlowStep::record : SlowStep::run);
}

}  // namespace ebb::autograd
