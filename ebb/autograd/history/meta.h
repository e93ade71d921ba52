// ebb/autograd/history/meta.h -- what autograd keeps beside a tensor: its gradient, its name, and a
// leaf's node.
//
// Most tensors have neither. A leaf that requires a gradient owns an AccumulateGrad, which is both
// its meta and its node in the graph; other tensors get an AutogradMeta when asked to keep their
// gradient. No node owns a tensor's meta, so no cycle can form.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_set>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/tangents.h"
#include "ebb/core/base/small_mutex.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb::autograd {

/// A gradient on its way into a meta, with what may run out of memory done (AutogradMeta::prepare).
struct PreparedGradient {
  Tensor grad = {};
  Tensor sum = {};       // what takes the place of ...
  Tensor augend = {};    // ... the gradient that was there, if that is still the one,
  uint32_t version = 0;  // with the numbers that it had
};

/// A gradient, a name, and a detached twin for saving (see saved_tensor.h).
class EBB_API AutogradMeta : public Named {
 public:
  Tensor grad() const;
  void set_grad(Tensor grad);
  /// Adds to the gradient. The first is kept as it is if nobody else can see it, else copied.
  /// False if it was dropped: the owner is dead, or a leaf that no longer requires a gradient.
  bool accumulate(Tensor grad);
  /// The same in two steps, of which only the first may fail, as long as nobody else changes the
  /// gradient in between.
  PreparedGradient prepare(Tensor grad);
  void accumulate(PreparedGradient prepared);
  /// The same if there is a gradient to add to, or nothing to do; else false, and `grad` is
  /// untouched.
  bool try_accumulate(Tensor& grad);
  /// For a leaf whose requires_grad changes: whether runs may still add to its gradient.
  void set_accumulates(bool value);
  /// A counted reference to the twin of `owner`, the tensor that this belongs to.
  TensorImpl* retain_twin(const Tensor& owner);
  /// Forgets the twin, since the owner's memory was exchanged.
  void drop_twin();

  TensorNames names() const override;
  void set_names(TensorNames names);
  /// Takes over the names of another meta, if it has any.
  void take_names(const AutogradMeta& before);
  /// Whether a gradient or a tangent is kept.
  bool keeps_values() const;

  Tangents tangents;  // of forward mode (tangents.h)

 protected:
  AutogradMeta() = default;
  ~AutogradMeta() override;
  void clear() noexcept;
  bool adds_in_place(const Tensor& grad) const;
  Tensor add(const Tensor& grad);

  mutable SmallMutex mutex_;  // threads may add to one leaf at the same time
  Tensor grad_;
  std::unique_ptr<const TensorNames> names_;
  std::atomic<TensorImpl*> twin_{nullptr};
  bool accumulates_ = true;  // guarded by mutex_; else what arrives is dropped
};

/// The node of a leaf: adds what arrives to the leaf's gradient.
class EBB_API AccumulateGrad final : public Node, public AutogradMeta {
 public:
  /// The node of `leaf` that takes gradients of the shape, dtype and device of `like`.
  static AccumulateGrad* create(const TensorImpl& leaf, const TensorImpl& like);

  const char* name() const override { return "AccumulateGrad"; }
  bool is_accumulator() const override { return true; }
  NodeKind kind() const override { return NodeKind::leaf; }
  void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) override;
  bool lets_owner_die(RefCount& refs) noexcept override;
  void owner_died() noexcept override;
  /// The dtype of the leaf's gradient: what arrives is cast to it.
  DType grad_dtype() const { return output_meta(0).dtype; }
  void set_grad_dtype(DType dtype) { mutable_output_meta(0).dtype = dtype; }
  /// The leaf, or an undefined tensor if it is gone. Another thread may be dropping it right now.
  Tensor share_leaf() const;

 private:
  AccumulateGrad() = default;
  TensorImpl* leaf_ = nullptr;  // guarded by mutex_; null once the leaf is being destroyed
};

/// The meta of a tensor that is not a leaf: lives and dies with it.
class RetainedMeta final : public AutogradMeta {
 public:
  /// From now on, runs that reach output `index` of `node` add its gradient here.
  void attach(Node& node, uint32_t index);
  /// The tensor became that output: if it keeps its gradient, it does so there; its name goes
  /// along.
  void follow(Node& node, uint32_t index);
  void detach() noexcept;
  bool is_attached() const { return static_cast<bool>(node_); }
  void owner_died() noexcept override;
  /// Nodes that saved the tensor as it is have sequence numbers above this; `now` if the first to
  /// ask. (Once a tensor has a meta, nodes save its twin.)
  uint64_t savers_above(uint64_t now) { return savers_above_ = std::min(savers_above_, now); }
  /// Sequence numbers of nodes none of which, nor any behind them, saved the tensor as it is.
  std::unordered_set<uint64_t>& looked_through() { return looked_through_; }

 private:
  NodePtr<Node> node_;
  uint64_t savers_above_ = UINT64_MAX;
  std::unordered_set<uint64_t> looked_through_;
};

/// The tensor's meta, or null.
inline AutogradMeta* meta_of(const Tensor& tensor) {
  return static_cast<AutogradMeta*>(tensor.impl()->meta);
}
/// The tensor's meta, made if there is none.
EBB_API AutogradMeta& ensure_meta(const Tensor& tensor);
/// Takes a tensor's meta away from it, with all but its names and its tangents.
void drop_meta(TensorImpl& impl);

}  // namespace ebb::autograd
