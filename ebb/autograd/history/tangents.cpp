// ebb/autograd/history/tangents.cpp -- lists of tangents by tensor and by level.
#include "ebb/autograd/history/tangents.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ebb/autograd/history/meta.h"

namespace ebb::autograd {
namespace {

std::atomic<uint64_t> last_level{0};

/// The tensor's list, or null; the flag is asked first, since most tensors have no meta.
const Tangents* tangents_of(const Tensor& tensor) {
  const TensorImpl* const impl = tensor.impl();
  const bool may_carry = impl != nullptr && (impl->flags & gate::kTangent) != 0;
  if (!may_carry || impl->meta == nullptr) return nullptr;
  return &static_cast<const AutogradMeta*>(impl->meta)->tangents;
}

}  // namespace

ForwardLevel::ForwardLevel(ForwardLevelPtr outer) : id_(++last_level), outer_(std::move(outer)) {}

bool ForwardLevel::is_alive() const {
  const std::lock_guard lock(mutex_);
  return is_alive_;
}

Tensor ForwardLevel::take(TangentEntry& entry) noexcept {
  const bool is_linked = entry.previous != nullptr || first_ == &entry;
  if (!is_linked) return {};
  (entry.previous != nullptr ? entry.previous->next : first_) = entry.next;
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  entry.previous = entry.next = nullptr;
  return std::move(entry.value);
}

void ForwardLevel::end() noexcept {
  for (bool is_empty = false; !is_empty;) {
    Tensor dropped;  // dies after the lock is gone: it may own tensors with tangents on this level
    const std::lock_guard lock(mutex_);
    is_alive_ = false;
    is_empty = first_ == nullptr;
    if (!is_empty) dropped = take(*first_);
  }
}

Tensor ForwardLevel::value_of(const TangentEntry& entry) const {
  const std::lock_guard lock(mutex_);
  return entry.value;
}

void ForwardLevel::set_value(TangentEntry& entry, Tensor value, TangentMemory memory) {
  const std::lock_guard lock(mutex_);
  if (!is_alive_) return;
  if (!entry.value.defined()) {
    entry.next = first_;
    if (first_ != nullptr) first_->previous = &entry;
    first_ = &entry;
  }
  entry.memory = memory;
  std::swap(entry.value, value);  // the old one is the parameter's now, and dies after the lock
}

TangentMemory ForwardLevel::memory_of(const TangentEntry& entry) const {
  const std::lock_guard lock(mutex_);
  return entry.memory;
}

void ForwardLevel::share(TangentEntry& entry) {
  const std::lock_guard lock(mutex_);
  entry.memory = TangentMemory::shared;
}

Tensor ForwardLevel::make_own(TangentEntry& entry, Tensor value) {
  const std::lock_guard lock(mutex_);
  const bool is_first = entry.value.defined() && entry.memory == TangentMemory::shared;
  if (!is_first) return entry.value;  // another thread was faster, or the level has ended
  entry.memory = TangentMemory::own;
  std::swap(entry.value, value);
  return entry.value;
}

Tensor ForwardLevel::unlink(TangentEntry& entry) noexcept {
  const std::lock_guard lock(mutex_);
  return take(entry);
}

TangentEntry* Tangents::find(const ForwardLevel& level) const {
  TangentEntry* entry = first_;
  while (entry != nullptr && entry->level.get() != &level) entry = entry->lower;
  return entry;
}

void Tangents::set(const ForwardLevelPtr& level, Tensor value, TangentMemory memory) {
  TangentEntry* entry = find(*level);
  if (entry == nullptr) {
    TangentEntry** place = &first_;
    while (*place != nullptr && (*place)->level->id() > level->id()) place = &(*place)->lower;
    entry = new TangentEntry{.level = level, .lower = *place, .value = {}};
    *place = entry;
  }
  level->set_value(*entry, std::move(value), memory);
}

void Tangents::drop_from(uint64_t level) noexcept {
  while (first_ != nullptr && first_->level->id() >= level) {
    TangentEntry* const entry = first_;
    first_ = entry->lower;
    const Tensor dropped = entry->level->unlink(*entry);
    delete entry;
  }
}

Tensor tangent_of(const Tensor& tensor, const ForwardLevel& level) {
  const Tangents* const tangents = tangents_of(tensor);
  const TangentEntry* const entry = tangents == nullptr ? nullptr : tangents->find(level);
  return entry == nullptr ? Tensor() : level.value_of(*entry);
}

void set_tangent(const Tensor& tensor, const ForwardLevelPtr& level, Tensor tangent,
                 TangentMemory memory) {
  AutogradMeta& meta = ensure_meta(tensor);
  meta.tangents.set(level, std::move(tangent), memory);
  meta.drop_twin();  // it carries the tangents of before
  tensor.impl()->flags |= gate::kTangent;
}

void mark_given(const Tensor& tensor, const ForwardLevel& level) {
  TangentEntry* const entry = ensure_meta(tensor).tangents.find(level);
  if (entry != nullptr) entry->given_at = tensor.impl()->storage->version();
}

void drop_tangents(const Tensor& tensor, uint64_t from_level) {
  AutogradMeta* const meta = meta_of(tensor);
  if (meta == nullptr) return;
  meta->tangents.drop_from(from_level);
  meta->drop_twin();
  if (meta->tangents.first() == nullptr) {
    tensor.impl()->flags &= static_cast<uint8_t>(~gate::kTangent);
  }
}

void copy_tangents(const Tensor& source, const Tensor& target) {
  const Tangents* const tangents = tangents_of(source);
  if (tangents == nullptr) return;
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    Tensor value = entry->level->value_of(*entry);
    if (value.defined()) {
      set_tangent(target, entry->level, std::move(value), TangentMemory::shared);
    }
  }
}

void add_levels(const Tensor& tensor, std::vector<ForwardLevelPtr>& levels) {
  const Tangents* const tangents = tangents_of(tensor);
  if (tangents == nullptr) return;
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    if (!entry->level->value_of(*entry).defined()) continue;
    const auto place = std::lower_bound(
        levels.begin(), levels.end(), entry->level->id(),
        [](const ForwardLevelPtr& level, uint64_t id) { return level->id() < id; });
    if (place == levels.end() || *place != entry->level) levels.insert(place, entry->level);
  }
}

bool is_dual(const Tensor& tensor) {
  std::vector<ForwardLevelPtr> levels;
  add_levels(tensor, levels);
  return !levels.empty();
}

Tensor below_level(const Tensor& tensor, const ForwardLevel& level) {
  const Tangents* const tangents = tangents_of(tensor);
  if (tangents == nullptr || tangents->first() == nullptr) return tensor;
  if (tangents->first()->level->id() < level.id()) return tensor;
  const Tensor lower = detached(tensor);
  const TensorImpl& source = *tensor.impl();
  TensorImpl& impl = *lower.impl();
  if (source.producer != nullptr) source.producer->retain();
  impl.producer = source.producer;
  impl.output_index = source.output_index;
  impl.flags |= source.flags & (gate::kRequiresGrad | TensorImpl::kLeaf);
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    if (entry->level->id() >= level.id()) continue;
    Tensor value = entry->level->value_of(*entry);
    if (value.defined()) set_tangent(lower, entry->level, std::move(value), TangentMemory::shared);
  }
  return lower;
}

}  // namespace ebb::autograd
