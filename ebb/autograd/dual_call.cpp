// ebb/autograd/dual_call.cpp -- how results get their tangents; views and in-place writes.
//
// A view of a tensor has as tangent the same view of the tensor's tangent, in memory too, so that
// writing through one is seen through the other. The tangent that is looked at must therefore lie
// in memory as its tensor does and be nobody else's: it is made so ("own") when a view first asks.
#include "ebb/autograd/dual_call.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ebb/autograd/jvp_support.h"
#include "ebb/autograd/meta.h"
#include "ebb/autograd/ops.h"
#include "ebb/autograd/saved_tensor.h"
#include "ebb/autograd/variable.h"
#include "ebb/core/error.h"

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

/// The node that a call just recorded as the history of `out`, or null.
Node* node_of(const Tensor& out) {
  return out.requires_grad() && !is_leaf(out) ? grad_fn(out) : nullptr;
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

/// A view was written and gets its first tangent: that of its base is zero elsewhere.
void give_through_base(const Tensor& self, const ForwardLevelPtr& level, const Tensor& tangent) {
  const Tensor base = base_of(self);
  Tensor whole = zero_tangent(base);
  if (!equal(whole.strides(), base.strides())) whole = copied_in_layout_of(whole, base);
  if (base.dtype() != self.dtype() || !equal(whole.strides(), base.strides())) {
    refuse_first_tangent(self, "that views a tensor of another dtype, or one with gaps in memory");
  }
  const int64_t offset = self.storage_offset() - base.storage_offset();
  const Tensor part =
      as_strided(whole, self.sizes(), self.strides(), whole.storage_offset() + offset);
  copy_(part, tangent);
  set_tangent(base, level, whole, TangentMemory::own);
  set_tangent(self, level, part, TangentMemory::own);
}

/// The first tangent of a tensor that was written, whose memory has so many owners. Views look for
/// a tangent when they are made and cannot be found from what they view: only `self` and its base
/// may be there to see the memory.
void give_first_tangent(const Tensor& self, uint32_t owners, const ForwardLevelPtr& level,
                        Tensor tangent) {
  const uint32_t known = is_view(self) ? 2 : 1;
  if (owners > known) {
    refuse_first_tangent(self,
                         "that shares memory with views, or a detach(), which would not see it");
  }
  if (!is_view(self)) return set_tangent(self, level, std::move(tangent), TangentMemory::shared);
  if (tangent_of(base_of(self), *level).defined()) {
    refuse_first_tangent(self, "that is the primal of a dual tensor");
  }
  give_through_base(self, level, tangent);
}

}  // namespace

DualCall::DualCall(std::initializer_list<const Tensor*> operands, const Tensor& out,
                   DualResult kind)
    : kind_(kind),
      out_storage_(storage_of(out)),
      out_owners_(out.defined() ? out_storage_->owners() : 0) {
  if (!out.defined() || !is_differentiable(out.dtype())) return;
  for (const Tensor* const operand : operands) add_levels(*operand, levels_);
}

DualCall::DualCall(std::span<const Tensor> operands, const Tensor& out, DualResult kind)
    : kind_(kind),
      out_storage_(storage_of(out)),
      out_owners_(out.defined() ? out_storage_->owners() : 0) {
  if (!out.defined() || !is_differentiable(out.dtype())) return;
  for (const Tensor& operand : operands) add_levels(operand, levels_);
}

bool DualCall::next() {
  viewed_tangent_ = nullptr;
  return position_++ < levels_.size();
}

std::vector<Tensor> DualCall::primals(std::span<const Tensor> operands) const {
  std::vector<Tensor> all;
  for (const Tensor& operand : operands) all.push_back(primal(operand));
  return all;
}

Tensor DualCall::tangent(const Tensor& operand) {
  Tensor value = tangent_of(operand, *level());
  const bool is_viewed = kind_ == DualResult::fresh && storage_of(operand) == out_storage_;
  if (!value.defined() || !is_viewed) return value;
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
  set_tangent(out, level(), std::move(tangent),
              is_private ? TangentMemory::own : TangentMemory::shared);
}

uint32_t DualCall::owners_of(const Tensor& self) const {
  return storage_of(self) == out_storage_ ? out_owners_ : storage_of(self)->owners();
}

void DualCall::replace_tangent(const Tensor& self, Tensor tangent) {
  const Tensor before = tangent_of(self, *level());
  if (!before.defined()) {
    if (tangent.defined()) give_first_tangent(self, owners_of(self), level(), std::move(tangent));
    return;
  }
  TangentEntry& entry = *meta_of(self)->tangents.find(*level());
  const bool is_seen_by_views =
      level()->memory_of(entry) == TangentMemory::own && !before.impl()->storage->is_unique();
  if (is_seen_by_views) {
    copy_(before, tangent.defined() ? tangent : zero_tangent(before));
    return;
  }
  set_tangent(self, level(), conform_tangent(tangent, self), TangentMemory::shared);
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
