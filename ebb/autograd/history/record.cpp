// ebb/autograd/history/record.cpp -- the parts of recording that are off the hot path.
#include "ebb/autograd/history/record.h"

#include <unordered_set>
#include <vector>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

void set_history(NodePtr<Node> node, uint64_t above, std::span<const Tensor> outs,
                 LocationId location) {
  for (size_t index = 0; index < outs.size(); ++index) {
    NodeAccess::describe_output(*node, index, *outs[index].impl());
  }
  NodeAccess::number(*node, above, location);
  for (size_t index = 0; index < outs.size(); ++index) {
    TensorImpl& impl = *outs[index].impl();
    node->retain();
    impl.producer = node.get();
    impl.output_index = static_cast<uint32_t>(index);
    impl.flags = recorded_flags(impl.flags);
  }
}

namespace {

/// Takes one impl out of the hands of those who saved it.
class Separation final : public SavedVisitor {
 public:
  explicit Separation(const TensorImpl* impl) : impl_(impl) {}
  void visit(const char* /*name*/, SavedTensor& saved) override { saved.let_go_of(impl_); }

 private:
  const TensorImpl* impl_;
};

}  // namespace

// All behind the history of the tensor was looked through when it became that, or is older than the
// tensor; and once it has a meta, new nodes save its twin. So no node is looked through twice, and
// a loop that writes again and again takes linear time.
void separate_savers(Node& node, TensorImpl& owner) {
  const auto* const before = static_cast<const Node*>(owner.producer);
  uint64_t savers_above = before == nullptr ? 0 : before->sequence();
  std::unordered_set<uint64_t> own;
  std::unordered_set<uint64_t>* seen = &own;
  if ((owner.flags & TensorImpl::kLeaf) == 0) {
    auto& meta = static_cast<RetainedMeta&>(ensure_meta(Tensor::share(&owner)));
    savers_above = meta.savers_above(savers_above);
    seen = &meta.looked_through();
  }
  if (before != nullptr) seen->insert(before->sequence());
  Separation separation(&owner);
  std::vector<Node*> stack{&node};
  while (!stack.empty()) {
    Node& next = *stack.back();
    stack.pop_back();
    {
      const SavedLock lock(next);
      next.visit_saved(separation);
    }
    for (const Edge& edge : next.edges()) {
      const bool may_lead_there = edge.node != nullptr && edge.node->sequence() > savers_above;
      if (may_lead_there && seen->insert(edge.node->sequence()).second) {
        stack.push_back(edge.node);
      }
    }
  }
}

namespace {

/// A leaf that requires no gradient any more, but once did: its accumulator goes.
void drop_accumulator(TensorImpl& impl) {
  if ((impl.flags & TensorImpl::kLeaf) == 0) return;
  drop_meta(impl);
  impl.flags &= static_cast<uint8_t>(~TensorImpl::kLeaf);
}

/// Puts `node` in front of the history of a tensor that is no view.
void renew_history(TensorImpl& impl, NodePtr<Node> node) {
  drop_accumulator(impl);
  if (impl.meta != nullptr) {
    auto* const meta = static_cast<RetainedMeta*>(impl.meta);
    meta->drop_twin();
    // retain_grad() asks for the gradient of what the tensor is from now on.
    meta->follow(*node, 0);
  }
  Producer* const before = std::exchange(impl.producer, node.leak());
  impl.output_index = 0;
  impl.flags = recorded_flags(impl.flags);
  if (before != nullptr) before->release();
}

}  // namespace

void rebase_history(NodePtr<Node> node, uint64_t above, const Tensor& self, LocationId location) {
  TensorImpl& impl = *self.impl();
  NodeAccess::describe_output(*node, 0, impl);
  NodeAccess::mark_as_write(*node);
  NodeAccess::number(*node, above, location);
  TensorImpl* const base = impl.base();
  if (base == nullptr) return renew_history(impl, std::move(node));
  renew_history(*base, make_write_node(std::move(node), *base, impl, location));
  // Like all views of the base, this one gets its new history when it is needed. Only a request to
  // keep the gradient moves at once: it is for what the tensor is from now on.
  const bool has_meta = impl.meta != nullptr;
  drop_accumulator(impl);
  if (impl.meta != nullptr) static_cast<RetainedMeta*>(impl.meta)->drop_twin();
  if (has_meta) settle_view(impl);
}

void check_inplace(const char* op, const Tensor& self, bool involves_grad) {
  if (!involves_grad) return;
  const TensorImpl& impl = *self.impl();
  const bool is_leaf = (impl.flags & TensorImpl::kLeaf) != 0;
  if (is_leaf && self.requires_grad()) {
    throw AutogradError(
        str(op, ": a leaf that requires a gradient must not be written in place, got ",
            describe_tensor(impl), "\nhint: write it under no_grad, or write a clone()"));
  }
  if (impl.storage->is_inference()) {
    throw AutogradError(
        str(op, ": a tensor made in inference mode must not be written with a gradient, got ",
            describe_tensor(impl), "\nhint: write a clone() of it"));
  }
  if ((impl.flags & TensorImpl::kView) != 0) check_view_write(op, self);
}

void check_unrecorded_write(const char* op, const Tensor& self) {
  const TensorImpl* const base = self.impl()->base();
  const bool may_get_lost = base != nullptr && (base->flags & gate::kRequiresGrad) != 0;
  const bool may_record = is_grad_enabled() && !is_inference_mode_enabled();
  if (may_get_lost && may_record) check_view_write(op, self);
}

void check_defined(const char* op, std::initializer_list<const Tensor*> operands,
                   std::initializer_list<const char*> names) {
  auto name = names.begin();
  for (const Tensor* const operand : operands) {
    if (!operand->defined()) {
      throw ValueError(str(op, ": '", *name, "' must be a tensor, got an undefined one"));
    }
    ++name;
  }
}

}  // namespace ebb::autograd
