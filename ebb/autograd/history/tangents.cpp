// ebb/autograd/history/tangents.cpp -- lists of tangents by tensor and by level.
#include "ebb/autograd/history/tangents.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace ebb::autograd {
namespace {

std::atomic<uint64_t> last_level{0};
thread_local ForwardLevelPtr innermost_level;

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

const ForwardLevelPtr& innermost_forward_level() { return innermost_level; }
void set_innermost_forward_level(ForwardLevelPtr level) noexcept {
  innermost_level = std::move(level);
}

}  // namespace ebb::autograd
