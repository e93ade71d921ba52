// ebb/autograd/record.cpp -- the parts of recording that are off the hot path.
#include "ebb/autograd/record.h"

#include <unordered_set>
#include <vector>

#include "ebb/autograd/meta.h"
#include "ebb/core/error.h"

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
    impl.flags |= gate::kRequiresGrad;
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

void separate_savers(Node& node, const Tensor& self) {
  const TensorImpl& impl = *self.impl();
  const auto* const before = static_cast<const Node*>(impl.producer);
  uint64_t savers_above = before == nullptr ? 0 : before->sequence();
  if ((impl.flags & TensorImpl::kLeaf) == 0) {
    savers_above = static_cast<RetainedMeta&>(ensure_meta(self)).savers_above(savers_above);
  }
  Separation separation(&impl);
  std::vector<Node*> stack{&node};
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    Node& next = *stack.back();
    stack.pop_back();
    {
      const SavedLock lock(next);
      next.visit_saved(separation);
    }
    for (const Edge& edge : next.edges()) {
      const bool may_lead_there = edge.node != nullptr && edge.node->sequence() > savers_above;
      if (may_lead_there && seen.insert(edge.node).second) stack.push_back(edge.node);
    }
  }
}

void rebase_history(NodePtr<Node> node, uint64_t above, const Tensor& self, LocationId location) {
  TensorImpl& impl = *self.impl();
  NodeAccess::describe_output(*node, 0, impl);
  NodeAccess::number(*node, above, location);
  if ((impl.flags & TensorImpl::kLeaf) != 0) {
    // A leaf that requires no gradient any more, but once did: its accumulator goes.
    auto* const accumulator = static_cast<AutogradMeta*>(std::exchange(impl.meta, nullptr));
    impl.flags &= static_cast<uint8_t>(~TensorImpl::kLeaf);
    if (accumulator->tangents.first() != nullptr) {
      ensure_meta(self).tangents.take_over(accumulator->tangents);
    }
    accumulator->owner_died();
  }
  if (impl.meta != nullptr) {
    auto* const meta = static_cast<RetainedMeta*>(impl.meta);
    meta->drop_twin();
    // retain_grad() asks for the gradient of what the tensor is from now on.
    if (meta->is_attached()) meta->attach(*node, 0);
  }
  Producer* const before = std::exchange(impl.producer, node.leak());
  impl.output_index = 0;
  impl.flags |= gate::kRequiresGrad;
  if (before != nullptr) before->release();
}

void check_inplace(const char* op, const Tensor& self, bool involves_grad) {
  if (!involves_grad) return;
  const TensorImpl& impl = *self.impl();
  const bool is_leaf = (impl.flags & TensorImpl::kLeaf) != 0;
  if (is_leaf && self.requires_grad()) {
    throw AutogradError(
        str(op, ": a leaf that requires a gradient must not be written in place, got ", impl.dtype,
            ' ', PrintShape{impl.shape()}, "\nhint: write it under no_grad, or write a clone()"));
  }
  if (impl.storage->is_inference()) {
    throw AutogradError(
        str(op, ": a tensor made in inference mode must not be written with a gradient, got ",
            impl.dtype, ' ', PrintShape{impl.shape()}, "\nhint: write a clone() of it"));
  }
  if (impl.storage->has_recorded_views()) {
    throw NotImplementedError(
        str(op, ": writing in place where views share the memory is not differentiable yet, got ",
            (impl.flags & TensorImpl::kView) != 0 ? "a view" : "a tensor with views", " of shape ",
            PrintShape{impl.shape()}, "\nhint: use the out-of-place form, or clone() first"));
  }
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
