// ebb/autograd/saved_tensor.cpp -- saving, unpacking, and refusing what is stale or freed.
#include "ebb/autograd/saved_tensor.h"

#include <sched.h>
#include <sys/single_threaded.h>

#include <algorithm>

#include "ebb/autograd/meta.h"
#include "ebb/autograd/record.h"
#include "ebb/core/block_cache.h"

namespace ebb::autograd {
namespace {

std::string line_of(LocationId id) { return to_string(describe_location(id)); }

/// Whether a logged write touched bytes of the saved value.
bool overlaps(const WriteRecord& write, const ByteRange& range) {
  return !range.empty && write.first_byte <= range.last && range.first <= write.last_byte;
}

/// The first write after `version` that may have changed `impl`; its op is null if the log no
/// longer tells. `is_stale` says whether there was one.
struct Staleness {
  bool is_stale = false;
  WriteRecord write;
};

Staleness find_write(const TensorImpl* impl, uint32_t version) {
  const uint32_t now = impl->storage->version();
  const std::vector<WriteRecord> writes = impl->storage->writes_since(version);
  if (writes.size() < now - version) {
    // The oldest writes have left the log: any of them may have hit.
    return {.is_stale = true, .write = writes.empty() ? WriteRecord{} : writes.front()};
  }
  const Tensor value = Tensor::share(const_cast<TensorImpl*>(impl));
  const ByteRange range = byte_range(value);
  for (const WriteRecord& write : writes) {
    if (overlaps(write, range)) return {.is_stale = true, .write = write};
  }
  return {};
}

}  // namespace

void SavedTensor::save_output(const Tensor& tensor, size_t index) {
  set(detached(tensor).leak(), Kind::output, index);
}

void SavedTensor::save_constant(const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (tensor.impl()->storage->is_inference()) throw_inference(*tensor.impl());
  set(detached(tensor).leak(), Kind::constant, 0);
}

void SavedTensor::throw_inference(const TensorImpl& impl) {
  throw AutogradError(
      str("backward: needs to save a tensor that was not made in inference mode, got ", impl.dtype,
          ' ', PrintShape{impl.shape()}, " that was\nhint: use a clone() of it"));
}

void SavedTensor::let_go_of(const TensorImpl* impl) {
  if (impl_ != impl || static_cast<Kind>(kind_) != Kind::plain) return;
  std::exchange(impl_, detached(Tensor::share(impl_)).leak())->release();
  kind_ = static_cast<uint32_t>(Kind::twin);
}

void SavedTensor::carry_output_tangents(const Tensor& out) {
  const bool is_out = impl_ != nullptr && static_cast<Kind>(kind_) == Kind::output &&
                      index_ == out.impl()->output_index;
  if (is_out) copy_tangents(out, Tensor::share(impl_));
}

void SavedTensor::carry_copy_tangents(const Tensor& before) {
  const bool is_copy = impl_ != nullptr && static_cast<Kind>(kind_) == Kind::twin && index_ == 0 &&
                       impl_->meta == nullptr;
  if (is_copy) copy_tangents(before, Tensor::share(impl_));
}

TensorImpl* SavedTensor::twin_of(const Tensor& tensor) {
  return meta_of(tensor)->retain_twin(tensor);
}

Tensor SavedTensor::unpack(Node& owner, const char* name, bool releases) {
  if (impl_ == nullptr) {
    // Another thread's run may be about to mark this node as released.
    if (static_cast<Kind>(kind_) == Kind::gone) throw_released(owner);
    return {};  // an optional operand that was not given
  }
  if (impl_->storage->version() != version_) [[unlikely]] {
    if (find_write(impl_, version_).is_stale) throw_stale(owner, name);
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
  if (kind == Kind::plain || kind == Kind::constant) return Tensor::share(impl_);
  const Edge edge = kind == Kind::twin ? owner.edges()[index_] : Edge{&owner, index_, 0};
  if (edge.node == nullptr) return Tensor::share(impl_);
  Tensor value = detached(Tensor::share(impl_));
  TensorImpl& impl = *value.impl();
  edge.node->retain();
  impl.producer = edge.node;
  impl.output_index = edge.index;
  impl.flags |= gate::kRequiresGrad;
  if (edge.node->is_accumulator()) impl.flags |= TensorImpl::kLeaf;
  if ((impl_->flags & gate::kTangent) != 0) copy_tangents(Tensor::share(impl_), value);
  return value;
}

void SavedTensor::throw_stale(const Node& owner, const char* name) const {
  const WriteRecord write = find_write(impl_, version_).write;
  const std::string writer = write.op == nullptr ? std::string("an in-place op")
                                                 : str(write.op, " at ", line_of(write.location));
  throw AutogradError(str(owner.name(), ": needs '", name, "' (", impl_->dtype, " ",
                          PrintShape{impl_->shape()}, ") as it was when saved at ",
                          line_of(owner.location()), ", got it modified in place by ", writer,
                          " (saved at version ", version_, ", now ", impl_->storage->version(),
                          ")\nhint: use the out-of-place form of that op, or clone() before it"));
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

SavedLock::SavedLock(Node& node) : node_(node), is_held_(!__libc_single_threaded) {
  if (!is_held_) return;
  std::atomic<uint8_t>& flags = NodeAccess::flags(node);
  constexpr uint8_t locked = NodeAccess::kLocked;
  while ((flags.fetch_or(locked, std::memory_order_acquire) & locked) != 0) {
    sched_yield();  // held for the length of an unpack only
  }
}

SavedLock::~SavedLock() {
  if (!is_held_) return;
  constexpr auto others = static_cast<uint8_t>(~NodeAccess::kLocked);
  NodeAccess::flags(node_).fetch_and(others, std::memory_order_release);
}

void throw_released(const Node& node) {
  const LocationId freed_at = node.edge_count() > 0 ? node.edges()[0].freed_at : 0;
  throw AutogradError(str(node.name(), ": needs what it saved at ", line_of(node.location()),
                          " to run backward a second time, got it freed by the run at ",
                          line_of(freed_at),
                          "\nhint: pass retain_graph=True to the first backward() or grad()"));
}

}  // namespace ebb::autograd
