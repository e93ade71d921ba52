// ebb/autograd/history/saved_tensor.cpp -- saving, unpacking, and refusing what is stale or freed.
#include "ebb/autograd/history/saved_tensor.h"

#include <sched.h>
#include <sys/single_threaded.h>

#include <algorithm>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/names/stale.h"
#include "ebb/autograd/history/names/unusable.h"
#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/core/runtime/block_cache.h"

namespace ebb::autograd {
namespace {

IntSpan strides_of(const TensorImpl& impl) { return {impl.strides(), impl.ndim}; }

/// Whether two tensors show the same elements, and carry no tangents that may differ.
bool is_same_view(const TensorImpl& a, const TensorImpl& b) {
  return a.storage == b.storage && a.data == b.data && a.dtype == b.dtype &&
         equal(a.shape(), b.shape()) && equal(strides_of(a), strides_of(b)) &&
         ((a.flags | b.flags) & gate::kTangent) == 0;
}

/// The leaf itself if `edge` leads to one that is alive and still shows what `twin` does.
Tensor leaf_of(const Edge& edge, const TensorImpl& twin) {
  if (edge.node == nullptr || !edge.node->is_accumulator()) return {};
  Tensor leaf = static_cast<AccumulateGrad*>(edge.node)->share_leaf();
  return leaf.defined() && is_same_view(*leaf.impl(), twin) ? leaf : Tensor();
}

/// A detached twin that is called as `tensor` is.
Tensor named_twin(const Tensor& tensor) {
  Tensor twin = detached(tensor);
  if (const AutogradMeta* const meta = meta_of(tensor); meta != nullptr) {
    if (!meta->names().title().empty()) ensure_meta(twin).take_names(*meta);
  }
  return twin;
}

/// `value` with the history that `edge` leads to, and its tangents; itself if there is none.
Tensor attached_to(const Tensor& value, const Edge& edge) {
  if (edge.node == nullptr) return value;
  Tensor alias = detached(value);
  TensorImpl& impl = *alias.impl();
  edge.node->retain();
  impl.producer = edge.node;
  impl.output_index = edge.index;
  impl.flags |= gate::kRequiresGrad;
  if (edge.node->is_accumulator()) impl.flags |= TensorImpl::kLeaf;
  if ((value.impl()->flags & gate::kTangent) != 0) copy_tangents(value, alias);
  return alias;
}

}  // namespace

Tensor original_of(const Tensor& value, const Edge& edge) {
  Tensor leaf = leaf_of(edge, *value.impl());
  return leaf.defined() ? leaf : attached_to(value, edge);
}

void SavedTensor::save_output(const Tensor& tensor, size_t index) {
  set(detached(tensor).leak(), Kind::output, index);
}

void SavedTensor::save_constant(const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (tensor.impl()->storage->is_inference()) throw_inference(*tensor.impl());
  tensor.impl()->show_writes();
  set(named_twin(tensor).leak(), Kind::constant, 0);
}

void SavedTensor::throw_inference(const TensorImpl& impl) {
  throw AutogradError(
      str("backward: needs to save a tensor that was not made in inference mode, got ",
          describe_tensor(impl), " that was\nhint: use a clone() of it"));
}

void SavedTensor::let_go_of(const TensorImpl* impl) {
  if (impl_ != impl || static_cast<Kind>(kind_) != Kind::plain) return;
  std::exchange(impl_, detached(Tensor::share(impl_)).leak())->release();
  kind_ = static_cast<uint32_t>(Kind::twin);
}

void SavedTensor::carry_output_tangents(const Tensor& out) {
  if (impl_ == nullptr || index_ != out.impl()->output_index) return;
  if (is_packed()) {
    PackedValue& packed = PackedValue::behind(*impl_);
    if (packed.origin() == PackedValue::Origin::output) packed.carry_tangents(out);
  } else if (static_cast<Kind>(kind_) == Kind::output) {
    copy_tangents(out, Tensor::share(impl_));
  }
}

bool SavedTensor::is_copy() const {
  return impl_ != nullptr && static_cast<Kind>(kind_) == Kind::twin && index_ == 0 &&
         (impl_->meta == nullptr ||
          static_cast<AutogradMeta*>(impl_->meta)->tangents.first() == nullptr);
}

void SavedTensor::carry_copy_tangents(const Tensor& before) {
  if (is_copy()) {
    copy_tangents(before, Tensor::share(impl_));
  } else if (is_packed() && PackedValue::behind(*impl_).origin() == PackedValue::Origin::copy) {
    PackedValue::behind(*impl_).carry_tangents(before);
  }
}

TensorImpl* AutogradMeta::retain_twin(const Tensor& owner) {
  TensorImpl* twin = twin_.load(std::memory_order_acquire);
  if (twin == nullptr) {
    if (owner.impl()->storage->is_inference()) SavedTensor::throw_inference(*owner.impl());
    Tensor fresh = detached(owner);
    copy_tangents(owner, fresh);
    if (!names().title().empty()) ensure_meta(fresh).take_names(*this);
    TensorImpl* const made = fresh.leak();
    if (twin_.compare_exchange_strong(twin, made, std::memory_order_acq_rel)) {
      twin = made;
    } else {
      made->release();
    }
  }
  twin->retain();
  return twin;
}

TensorImpl* SavedTensor::twin_by_meta(const Tensor& tensor) {
  tensor.impl()->show_writes();
  return meta_of(tensor)->retain_twin(tensor);
}

TensorImpl* SavedTensor::twin_of_view(const Tensor& tensor) {
  tensor.impl()->show_writes();
  TensorImpl* const twin = detached(tensor).leak();
  // A view without history may know which line cut it: explain() asks what was saved.
  if (tensor.impl()->producer == nullptr) twin->output_index = tensor.impl()->output_index;
  return twin;
}

Tensor SavedTensor::unpack(Node& owner, const char* name, bool releases, SavedLock* lock) {
  if (impl_ == nullptr) {
    // Another thread's run may be about to mark this node as released.
    if (static_cast<Kind>(kind_) == Kind::gone) throw_released(owner);
    return {};  // an optional operand that was not given
  }
  if (impl_->storage->version() != version_) [[unlikely]] {  // so for all that is packed
    if (is_packed()) return unpack_packed(owner, name, lock);
    const bool is_operand =
        static_cast<Kind>(kind_) == Kind::plain || static_cast<Kind>(kind_) == Kind::twin;
    const bool is_output = static_cast<Kind>(kind_) == Kind::output;
    const Edge place = is_operand  ? owner.edges()[index_]
                       : is_output ? Edge{&owner, index_, 0}
                                   : Edge();
    refuse_stale({owner, name, place}, *impl_, version_);
  }
  if (is_grad_enabled()) return with_history(owner);
  if (releases) {
    kind_ = static_cast<uint32_t>(Kind::gone);
    return Tensor::adopt(std::exchange(impl_, nullptr));
  }
  return Tensor::share(impl_);
}

Tensor SavedTensor::with_history(Node& owner) const {
  const Kind kind = static_cast<Kind>(kind_);
  const Tensor value = Tensor::share(impl_);
  if (kind == Kind::plain || kind == Kind::constant) return value;
  return attached_to(value, kind == Kind::twin ? owner.edges()[index_] : Edge{&owner, index_, 0});
}

Tensor SavedTensor::look(Node& owner, const char* name, SavedLock& lock, bool releases) {
  const ModeScope mode(0, gate::kNoGrad);
  Tensor value = unpack(owner, name, false, &lock);
  if (impl_ == nullptr || is_packed()) return value;
  if (static_cast<Kind>(kind_) == Kind::twin) {
    Tensor leaf = leaf_of(owner.edges()[index_], *impl_);
    if (leaf.defined()) value = std::move(leaf);
  }
  if (releases) {
    kind_ = static_cast<uint32_t>(Kind::gone);
    std::exchange(impl_, nullptr)->release();
  }
  return value;
}

void SavedTensor::pack(const std::shared_ptr<const HookFrame>& frame, Node& owner,
                       const char* name) {
  Tensor value;
  {
    const SavedLock lock(owner);
    // A stale one is what an op saved and then wrote: the error comes when it is asked for.
    if (impl_ == nullptr || is_packed() || is_stale(*impl_, version_)) return;
    value = Tensor::share(impl_);
  }
  const Kind kind = static_cast<Kind>(kind_);
  const auto origin = kind == Kind::output     ? PackedValue::Origin::output
                      : kind == Kind::constant ? PackedValue::Origin::constant
                                               : PackedValue::Origin::edge;
  Tensor husk =
      Tensor::adopt(PackedValue::pack(frame, *value.impl(), version_, origin, {owner, name}));
  const SavedLock lock(owner);
  if (impl_ != value.impl()) return;  // released or packed while the hooks ran
  if ((impl_->flags & gate::kTangent) != 0) {
    PackedValue::behind(*husk.impl()).carry_tangents(value);
  }
  std::exchange(impl_, husk.leak())->release();
  version_ = PackedValue::kHuskVersion;
  kind_ = static_cast<uint32_t>(Kind::packed);
}

const PackedValue& SavedTensor::packed() const { return PackedValue::behind(*impl_); }

Tensor SavedTensor::unpack_packed(Node& owner, const char* name, SavedLock* lock) const {
  const Tensor husk = Tensor::share(impl_);  // others may release it while the hooks run
  const PackedValue& packed = PackedValue::behind(*impl_);
  const uint32_t index = index_;
  Tensor value;
  if (lock == nullptr) {
    value = packed.unpack({owner, name}, *husk.impl());
  } else {
    lock->pause();
    try {
      value = packed.unpack({owner, name}, *husk.impl());
    } catch (...) {
      lock->resume();
      throw;
    }
    lock->resume();
    if (owner.is_released()) throw_released(owner);
  }
  const bool is_recording = is_grad_enabled();
  if (!is_recording && !packed.has_tangents()) return value;
  value = detached(value);  // what hooks return may have a history of its own
  packed.give_tangents(value);
  if (!is_recording) return value;
  const bool is_output = packed.origin() == PackedValue::Origin::output;
  if (packed.origin() == PackedValue::Origin::constant) return value;
  return attached_to(value, is_output ? Edge{&owner, index, 0} : owner.edges()[index]);
}

void SavedShape::save(IntSpan sizes) {
  reset();
  auto* const block = static_cast<int64_t*>(allocate_inline((sizes.size() + 1) * sizeof(int64_t)));
  block[0] = static_cast<int64_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), block + 1);
  block_ = block;
}

void SavedShape::reset() noexcept {
  if (block_ == nullptr) return;
  deallocate_inline(block_, (static_cast<size_t>(block_[0]) + 1) * sizeof(int64_t));
  block_ = nullptr;
}

SavedLock::SavedLock(Node& node) : node_(node), is_held_(false) {
  if (!__libc_single_threaded) resume();
}

SavedLock::~SavedLock() { pause(); }

void SavedLock::resume() noexcept {
  is_held_ = !__libc_single_threaded;
  if (!is_held_) return;
  std::atomic<uint8_t>& flags = NodeAccess::flags(node_);
  constexpr uint8_t locked = NodeAccess::kLocked;
  while ((flags.fetch_or(locked, std::memory_order_acquire) & locked) != 0) {
    sched_yield();  // held for the length of an unpack only
  }
}

void SavedLock::pause() noexcept {
  if (!is_held_) return;
  constexpr auto others = static_cast<uint8_t>(~NodeAccess::kLocked);
  NodeAccess::flags(node_).fetch_and(others, std::memory_order_release);
  is_held_ = false;
}

void throw_released(const Node& node) {
  note_unusable(node);
  const LocationId freed_at = node.edge_count() > 0 ? node.edges()[0].freed_at : 0;
  throw AutogradError(
      str(title_of(node), ": needs what it saved", list_operands(node), " at ",
          line_of(node.location()), " to run backward a second time, got it freed by the run at ",
          line_of(freed_at),
          "\nhint: pass retain_graph=True to the first backward() or grad(); detach() what is "
          "kept from an earlier step"));
}

}  // namespace ebb::autograd
