// ebb/autograd/history/hook_table.cpp -- lists of hooks that change while runs call them.
#include "ebb/autograd/history/hook_table.h"

#include <algorithm>
#include <utility>

namespace ebb::autograd {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

uint64_t HookTable::add(HookKind kind, uint32_t output, std::shared_ptr<Hook> hook) {
  std::shared_ptr<const List> outdated;  // dies after the lock is gone
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_id();
  entries_.push_back({id, kind, output, std::move(hook)});
  outdated = std::exchange(snapshot_, nullptr);
  note_change();
  return id;
}

bool HookTable::remove(uint64_t id) {
  std::shared_ptr<Hook> removed;  // it and the snapshot die after the lock is gone
  std::shared_ptr<const List> outdated;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [id](const Entry& entry) { return entry.id == id; });
    if (entry == entries_.end()) return false;
    removed = std::move(entry->hook);
    entries_.erase(entry);
    outdated = std::exchange(snapshot_, nullptr);
    note_change();
  }
  removed->detached();
  return true;
}

void HookTable::clear() noexcept {
  if (empty()) return;
  List taken;
  std::shared_ptr<const List> outdated;
  {
    const std::lock_guard lock(mutex_);
    std::swap(taken, entries_);
    outdated = std::exchange(snapshot_, nullptr);
    kinds_.store(0, std::memory_order_release);
  }
  for (const Entry& entry : taken) entry.hook->detached();
}

std::shared_ptr<const HookTable::List> HookTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (snapshot_ == nullptr) snapshot_ = std::make_shared<const List>(entries_);
  return snapshot_;
}

void HookTable::note_change() {
  uint32_t kinds = 0;
  for (const Entry& entry : entries_) kinds |= bit(entry.kind);
  kinds_.store(kinds, std::memory_order_release);
}

}  // namespace ebb::autograd
