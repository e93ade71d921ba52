// ebb/autograd/history/meta.cpp -- gradients and where they are kept.
#include "ebb/autograd/history/meta.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "ebb/autograd/history/cut_observer.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/node_extra.h"

namespace ebb::autograd {
AutogradMeta::~AutogradMeta() {
  TensorImpl* const twin = twin_.exchange(nullptr);
  if (twin != nullptr) twin->release();
}

Tensor AutogradMeta::grad() const {
  const std::lock_guard lock(mutex_);
  return grad_;
}

void AutogradMeta::set_grad(Tensor grad) {
  const std::lock_guard lock(mutex_);
  std::swap(grad_, grad);  // the old gradient dies after the lock is gone
}

bool AutogradMeta::try_accumulate(Tensor& grad) {
  Tensor replaced;
  const std::lock_guard lock(mutex_);
  if (!accumulates_) return true;
  if (!grad_.defined()) return false;
  replaced = add(grad);
  return true;
}

bool AutogradMeta::accumulate(Tensor grad) {
  Tensor replaced;
  const std::lock_guard lock(mutex_);
  if (!accumulates_) return false;
  if (grad_.defined()) {
    replaced = add(grad);
  } else {
    grad_ = owned_gradient(std::move(grad));
  }
  return true;
}

void AutogradMeta::set_accumulates(bool value) {
  const std::lock_guard lock(mutex_);
  accumulates_ = value;
}

PreparedGradient AutogradMeta::prepare(Tensor grad) {
  const std::lock_guard lock(mutex_);
  if (!grad_.defined()) return {.grad = owned_gradient(std::move(grad))};
  if (adds_in_place(grad)) {
    grad_.impl()->storage->prepare_write();
    return {.grad = std::move(grad)};
  }
  const uint32_t version = grad_.impl()->storage->version();
  Tensor sum = sum_of(grad_, grad);
  return {std::move(grad), std::move(sum), grad_, version};
}

void AutogradMeta::accumulate(PreparedGradient prepared) {
  Tensor replaced;  // dies after the lock is gone
  const std::lock_guard lock(mutex_);
  if (!accumulates_) return;
  const bool fits = prepared.sum.defined() && grad_.is_same(prepared.augend) &&
                    grad_.impl()->storage->version() == prepared.version;
  if (fits) {
    replaced = std::exchange(grad_, std::move(prepared.sum));
  } else if (grad_.defined()) {
    replaced = add(prepared.grad);
  } else {
    grad_ = owned_gradient(std::move(prepared.grad));
  }
}

bool AutogradMeta::adds_in_place(const Tensor& grad) const {
  constexpr uint32_t kNotInMemory = gate::kTangent | gate::kNotStrided;
  const bool is_more = ((grad_.gate_bits() | grad.gate_bits()) & kNotInMemory) != 0;
  return !is_grad_enabled() && !is_more && !has_internal_overlap(grad_) &&
         !grad_.impl()->storage->is_read_only();
}

/// Adds to the gradient there is, in place unless that is recorded or impossible. Returns the one
/// replaced, which must die outside the lock: its Python object may have to wait for Python's lock,
/// whose holder may be waiting for this one.
Tensor AutogradMeta::add(const Tensor& grad) {
  if (!adds_in_place(grad)) return std::exchange(grad_, sum_of(grad_, grad));
  grad_.impl()->storage->prepare_write();
  add_into(grad_, grad);
  grad_.impl()->storage->note_write("backward", thread_state.location, region_of(*grad_.impl()));
  return {};
}

TensorNames AutogradMeta::names() const {
  const std::lock_guard lock(mutex_);
  return names_ == nullptr ? TensorNames() : *names_;
}

void AutogradMeta::set_names(TensorNames names) {
  auto kept = std::make_unique<const TensorNames>(std::move(names));
  const std::lock_guard lock(mutex_);
  names_.swap(kept);
}

void AutogradMeta::take_names(const AutogradMeta& before) {
  TensorNames names = before.names();
  if (!names.title().empty()) set_names(std::move(names));
}

bool AutogradMeta::keeps_values() const { return tangents.first() != nullptr || grad().defined(); }

void AutogradMeta::drop_twin() {
  TensorImpl* const twin = twin_.exchange(nullptr);
  if (twin != nullptr) twin->release();
}

void AutogradMeta::clear() noexcept {
  Tensor grad;
  {
    const std::lock_guard lock(mutex_);
    accumulates_ = false;
    std::swap(grad, grad_);
  }
  drop_twin();
  tangents.clear();
}

AccumulateGrad* AccumulateGrad::create(const TensorImpl& leaf, const TensorImpl& like) {
  const NodeLayout layout(sizeof(AccumulateGrad), 0, 1, like.ndim);
  auto* const node = new (allocate_inline(layout.bytes())) AccumulateGrad();
  NodeAccess::initialize(*node, layout);
  NodeAccess::describe_output(*node, 0, like);
  node->leaf_ = const_cast<TensorImpl*>(&leaf);
  return node;
}

void AccumulateGrad::apply(Tensor* grad_outs, Tensor* /*grad_inputs*/, NodeRun& /*run*/) {
  accumulate(std::move(grad_outs[0]));
}

bool AccumulateGrad::lets_owner_die(RefCount& refs) noexcept {
  const std::lock_guard lock(mutex_);
  if (refs.value() > 1 && !refs.decrement()) return false;  // share_leaf() was faster
  leaf_ = nullptr;
  return true;
}

void AccumulateGrad::owner_died() noexcept {
  if (any_leaf_noted.load(std::memory_order_relaxed)) [[unlikely]]
    cut_observer->leaf_died(*this);
  {
    const std::lock_guard lock(mutex_);
    leaf_ = nullptr;
  }
  clear();
}

/// The leaf's memory is there while the lock is held: who destroys it has to pass
/// lets_owner_die().
Tensor AccumulateGrad::share_leaf() const {
  const std::lock_guard lock(mutex_);
  return leaf_ != nullptr && leaf_->refs.try_increment() ? Tensor::adopt(leaf_) : Tensor();
}

void RetainedMeta::attach(Node& node, uint32_t index) {
  detach();
  node_ = NodePtr<Node>::share(&node);
  NodeExtra& extra = ensure_extra(node);
  const std::lock_guard lock(extra.mutex);
  extra.retained.emplace_back(index, this);
}

void RetainedMeta::follow(Node& node, uint32_t index) {
  if (is_attached()) attach(node, index);
  note_name(node, index, names().given);
}

void RetainedMeta::detach() noexcept {
  if (!node_) return;
  NodeExtra& extra = *node_->extra();
  {
    const std::lock_guard lock(extra.mutex);
    std::erase_if(extra.retained, [this](const auto& entry) { return entry.second == this; });
  }
  node_ = {};
}

void RetainedMeta::owner_died() noexcept {
  detach();
  delete this;
}

void drop_meta(TensorImpl& impl) {
  auto* const before = static_cast<AutogradMeta*>(std::exchange(impl.meta, nullptr));
  if (before == nullptr) return;
  const bool has_tangents = before->tangents.first() != nullptr;
  if (has_tangents || !before->names().title().empty()) {
    AutogradMeta& kept = ensure_meta(Tensor::share(&impl));
    kept.tangents.take_over(before->tangents);
    kept.take_names(*before);
  }
  before->owner_died();
}

AutogradMeta& ensure_meta(const Tensor& tensor) {
  TensorImpl& impl = *tensor.impl();
  if (impl.meta == nullptr) impl.meta = new RetainedMeta();
  return *static_cast<AutogradMeta*>(impl.meta);
}

}  // namespace ebb::autograd
