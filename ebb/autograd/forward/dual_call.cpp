// ebb/autograd/forward/dual_call.cpp -- how results get their tangents; views and in-place writes.
//
// A view of a tensor has as tangent the same view of the tensor's tangent, in memory too, so that
// writing through one is seen through the other. The tangent that is looked at must therefore lie
// in memory as its tensor does and be nobody else's: it is made so ("own") when a view first asks.
// A tensor that gets its first tangent by a write may have views already. They cannot be found from
// it; those without a history are settled before each op (views.h), and adopt their part then.
#include "ebb/autograd/forward/dual_call.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "ebb/autograd/forward/jvp_support.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/view_as_complex.h"
#include "ebb/autograd/ops/view_as_real.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

const Storage* storage_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.impl()->storage : nullptr;
}

/// A copy whose dims lie in memory in the order of those of `like`, without gaps.
Tensor copied_in_layout_of(const Tensor& tangent, const Tensor& like) {
  Shape order = like.shape();
  std::iota(order.begin(), order.end(), 0);
  const IntSpan strides = like.strides();
  std::stable_sort(order.begin(), order.end(), [&](int64_t lhs, int64_t rhs) {
    return strides[static_cast<size_t>(lhs)] > strides[static_cast<size_t>(rhs)];
  });
  Shape back = order;
  for (int dim = 0; dim < order.ndim(); ++dim) back[static_cast<int>(order[dim])] = dim;
  return permute(clone(permute(tangent, order)), back);
}

/// The tangent of a tensor that is viewed, in memory that only its views share.
Tensor own_tangent(const Tensor& tensor, ForwardLevel& level) {
  TangentEntry* const entry = meta_of(tensor)->tangents.find(level);
  Tensor value = level.value_of(*entry);
  if (level.memory_of(*entry) == TangentMemory::own) return value;
  return level.make_own(*entry, copied_in_layout_of(value, tensor));
}

/// Whether a tangent just computed is seen by nobody else and lies in memory as `out` does.
bool is_own(const Tensor& tangent, const Tensor& out) {
  const TensorImpl& impl = *tangent.impl();
  return impl.refs.is_unique() && impl.storage->is_unique() &&
         equal(tangent.strides(), out.strides());
}

/// Hands a tangent to what a node saved.
class SavedTangents final : public SavedVisitor {
 public:
  SavedTangents(const Tensor& source, bool is_output) : source_(source), is_output_(is_output) {}
  void visit(const char* /*name*/, SavedTensor& saved) override {
    if (is_output_) {
      saved.carry_output_tangents(source_);
    } else {
      saved.carry_copy_tangents(source_);
    }
  }

 private:
  const Tensor& source_;
  bool is_output_;
};

/// The node of the op that a call just recorded for `out`, or null.
Node* node_of(const Tensor& out) {
  Node* const node = out.requires_grad() && !is_leaf(out) ? grad_fn(out) : nullptr;
  const bool is_rewritten = node != nullptr && node->kind() == NodeKind::write && is_view(out);
  if (!is_rewritten) return node;
  // A view was written: its history starts at its base, whose node leads to that of the op.
  const Node& base = *grad_fn(base_of(out));
  return base.kind() == NodeKind::write && base.edge_count() == 2 ? base.edges()[1].node : nullptr;
}

void carry_into_saved(const Tensor& out) {
  Node* const node = node_of(out);
  if (node == nullptr) return;
  SavedTangents carrier(out, true);
  const SavedLock lock(*node);
  node->visit_saved(carrier);
}

[[noreturn]] void refuse_first_tangent(const Tensor& self, const char* why) {
  throw NotImplementedError(str("forward mode: a tensor without a tangent cannot get one by an ",
                                "in-place write, got one of shape ", PrintShape{self.sizes()}, " ",
                                why, "\nhint: make the tensor that is viewed dual first, with a ",
                                "tangent of zeros, or write a clone()"));
}

/// Whether a tangent can lie in memory as the tensor does, element for element.
bool has_no_gaps(const Tensor& tensor) {
  const Tensor like = copied_in_layout_of(zero_tangent(tensor), tensor);
  return equal(like.strides(), tensor.strides());
}

Tensor pairs_of(const Tensor& tensor) {
  return is_complex(tensor.dtype()) ? view_as_real(tensor) : tensor;
}

/// The part of the base's own tangent that a view looks at.
Tensor part_of(const Tensor& whole, const Tensor& base, const Tensor& view) {
  if (is_complex(base.dtype()) != is_complex(view.dtype())) {
    const Tensor part =
        part_of(pairs_of(whole), pairs_of(detached(base)), pairs_of(detached(view)));
    return is_complex(view.dtype()) ? view_as_complex(part) : part;
  }
  const int64_t offset = view.storage_offset() - base.storage_offset();
  return as_strided(whole, view.sizes(), view.strides(), whole.storage_offset() + offset);
}

/// A view was written and gets its first tangent: that of its base is zero elsewhere.
void give_through_base(const Tensor& self, const ForwardLevelPtr& level, const Tensor& tangent) {
  const Tensor base = base_of(self);
  Tensor whole = zero_tangent(base);
  if (!equal(whole.strides(), base.strides())) whole = copied_in_layout_of(whole, base);
  if (!equal(whole.strides(), base.strides())) {
    refuse_first_tangent(self, "that views a tensor with gaps in memory");
  }
  const Tensor part = part_of(whole, base, self);
  copy_(part, tangent);
  set_tangent(base, level, whole, TangentMemory::own);
  set_tangent(self, level, part, TangentMemory::own);
  mark_given(base, *level);
}

/// Whether views that were there before the write of `self` look for tangents before each op: those
/// of a tensor that had no history then.
bool views_look_again(const Tensor& self) {
  const Tensor base = is_view(self) ? base_of(self) : self;
  if (!base.requires_grad()) return true;
  const Node* const node = is_leaf(base) ? nullptr : grad_fn(base);
  return node != nullptr && node->kind() == NodeKind::write && node->edges()[0].node == nullptr;
}

/// The first tangent of a tensor that was written, whose memory has so many owners. Views look for
/// a tangent when they are made, and those without a history before each op (adopt_tangents()).
void give_first_tangent(const Tensor& self, uint32_t owners, const ForwardLevelPtr& level,
                        Tensor tangent) {
  const bool has_others = owners > (is_view(self) ? 2 : 1);
  if (has_others && !views_look_again(self)) {
    refuse_first_tangent(self, "that shares memory with views of a tensor with a history");
  }
  if (is_view(self)) {
    if (tangent_of(base_of(self), *level).defined()) {
      refuse_first_tangent(self, "that is the primal of a dual tensor");
    }
    return give_through_base(self, level, tangent);
  }
  if (has_others && !has_no_gaps(self)) {
    refuse_first_tangent(self, "that has gaps in memory, and views");
  }
  set_tangent(self, level, std::move(tangent), TangentMemory::shared);
  mark_given(self, *level);
}

void look_again(TensorImpl& view) {
  // One for all, and recursive: to look at a tangent may settle it, which is rare already here.
  static std::recursive_mutex mutex;
  const std::lock_guard lock(mutex);
  const Tensor self = Tensor::share(&view), base = Tensor::share(view.base());
  const uint32_t made_at = __atomic_load_n(&view.view().version, __ATOMIC_RELAXED);
  const TangentEntry* entry = meta_of(base)->tangents.first();
  for (; entry != nullptr; entry = entry->lower) {
    const bool is_new = made_at < entry->given_at && !tangent_of(self, *entry->level).defined();
    if (!is_new || !entry->level->value_of(*entry).defined()) continue;
    const EnableGradGuard
        recorded;  // a tangent's history is the base's tangent's, not the reader's
    const Tensor whole = own_tangent(base, *entry->level);
    set_tangent(self, entry->level, part_of(whole, base, self), TangentMemory::own);
  }
}

[[maybe_unused]] const bool adopts_tangents = [] {
  adopt_tangents = look_again;
  return true;
}();

}  // namespace

DualCall::DualCall(std::initializer_list<const Tensor*> operands, const Tensor& out,
                   DualResult kind)
    : kind_(kind),
      out_storage_(storage_of(out)),
      out_owners_(out.defined() ? out_storage_->owners() : 0) {
  if (!out.defined() || !is_differentiable(out.dtype())) return;
  for (const Tensor* const operand : operands) add_levels(*operand, levels_);
  if (kind == DualResult::written) add_levels(out, levels_);  // copy_() does not read it
}

DualCall::DualCall(std::span<const Tensor> operands, const Tensor& out, DualResult kind)
    : kind_(kind),
      out_storage_(storage_of(out)),
      out_owners_(out.defined() ? out_storage_->owners() : 0) {
  if (!out.defined() || !is_differentiable(out.dtype())) return;
  for (const Tensor& operand : operands) add_levels(operand, levels_);
  if (kind == DualResult::written) add_levels(out, levels_);
}

bool DualCall::next() {
  viewed_tangent_ = nullptr;
  handed_.clear();
  return position_++ < levels_.size();
}

std::vector<Tensor> DualCall::primals(std::span<const Tensor> operands) const {
  std::vector<Tensor> all;
  for (const Tensor& operand : operands) all.push_back(primal(operand));
  return all;
}

Tensor DualCall::tangent(const Tensor& operand) {
  Tensor value = tangent_of(operand, *level());
  if (!value.defined()) return value;
  if (kind_ == DualResult::written || storage_of(operand) != out_storage_) {
    const TangentEntry& entry = *meta_of(operand)->tangents.find(*level());
    if (level()->memory_of(entry) == TangentMemory::own) {
      handed_.push_back({operand.impl(), storage_of(value), !value.impl()->storage->is_unique()});
    }
    return value;
  }
  value = own_tangent(operand, *level());
  viewed_tangent_ = storage_of(value);
  return value;
}

std::vector<Tensor> DualCall::tangents(std::span<const Tensor> operands) {
  std::vector<Tensor> all;
  for (const Tensor& operand : operands) all.push_back(tangent(operand));
  return all;
}

void DualCall::set(const Tensor& out, Tensor tangent) {
  if (kind_ == DualResult::written) return set_written(out, std::move(tangent));
  if (tangent.defined()) set_fresh(out, std::move(tangent));
  carry_into_saved(out);
}

void DualCall::set_written(const Tensor& self, Tensor tangent) {
  replace_tangent(self, std::move(tangent));
  carry_into_saved(self);
}

void DualCall::set(std::span<const Tensor> outs, std::vector<Tensor> tangents) {
  for (size_t index = 0; index < outs.size() && index < tangents.size(); ++index) {
    set(outs[index], std::move(tangents[index]));
  }
}

void DualCall::set_fresh(const Tensor& out, Tensor tangent) {
  const bool is_view_of_own = viewed_tangent_ != nullptr && storage_of(tangent) == viewed_tangent_;
  const bool is_private = is_view_of_own || is_own(tangent, out);
  set_tangent(out, level(), is_private ? std::move(tangent) : kept_apart(out, std::move(tangent)),
              is_private ? TangentMemory::own : TangentMemory::shared);
}

/// Of `x + 1` the tangent is that of `x`, which a write to `x` must not change in place any more:
/// it is "shared" from now on, or copied if views of `x` look at it.
Tensor DualCall::kept_apart(const Tensor& out, Tensor tangent) {
  for (const Handed& one : handed_) {
    if (one.operand == out.impl() || one.memory != storage_of(tangent)) continue;
    if (one.is_viewed) return clone(tangent);
    level()->share(*static_cast<AutogradMeta*>(one.operand->meta)->tangents.find(*level()));
  }
  return tangent;
}

uint32_t DualCall::owners_of(const Tensor& self) const {
  return storage_of(self) == out_storage_ ? out_owners_ : storage_of(self)->owners();
}

void DualCall::replace_tangent(const Tensor& self, Tensor tangent) {
  const Tensor before = tangent_of(self, *level());
  if (!before.defined()) {
    if (!tangent.defined()) return;
    give_first_tangent(self, owners_of(self), level(), kept_apart(self, std::move(tangent)));
    return;
  }
  TangentEntry& entry = *meta_of(self)->tangents.find(*level());
  const bool is_seen_by_views =
      level()->memory_of(entry) == TangentMemory::own && !before.impl()->storage->is_unique();
  if (is_seen_by_views) {
    copy_(before, tangent.defined() ? tangent : zero_tangent(before));
    return;
  }
  set_tangent(self, level(), kept_apart(self, conform_tangent(tangent, self)),
              TangentMemory::shared);
}

Tensor before_write(const Tensor& operand, const Tensor& self) {
  const bool shares = operand.defined() && storage_of(operand) == storage_of(self);
  return shares ? clone(operand) : operand;
}

void carry_before_write(const Tensor& self, const Tensor& before) {
  Node* const node = node_of(self);
  if (node == nullptr) return;
  SavedTangents carrier(before, false);
  const SavedLock lock(*node);
  node->visit_saved(carrier);
}

void clear_written_tangents(const Tensor& self) {
  DualCall call({&self}, self, DualResult::written);
  while (call.next()) call.set(self, {});
}

void check_no_tangents(const char* op, std::initializer_list<const Tensor*> operands) {
  for (const Tensor* const operand : operands) {
    if (!operand->defined() || !is_dual(*operand)) continue;
    throw NotImplementedError(str(op, ": has no forward-mode rule, got an operand of shape ",
                                  PrintShape{operand->sizes()}, " that carries a tangent",
                                  "\nhint: detach() it, or use reverse mode"));
  }
}

void check_out_tangents(const char* op, std::initializer_list<const Tensor*> operands) {
  for (const Tensor* const operand : operands) {
    if (!operand->defined() || !is_dual(*operand)) continue;
    throw AutogradError(str(op,
                            ": the out= form is not differentiable and needs tensors without "
                            "tangents, got one of shape ",
                            PrintShape{operand->sizes()}, " that carries one",
                            "\nhint: use the plain form, or detach() it"));
  }
}

}  // namespace ebb::autograd
