// ebb/devices/launch/staging_pool.cpp -- lending blocks, and taking them back from finished copies.
#include "ebb/devices/launch/staging_pool.h"

#include <algorithm>
#include <cstring>

#include "ebb/devices/launch/failure.h"
#include "ebb/devices/launch/memory_pool.h"

namespace ebb::devices {

void* StagingPool::take(size_t bytes) {
  const size_t size = size_class(bytes);
  {
    const std::lock_guard lock(mutex_);
    collect();
    std::vector<void*>& kept = kept_[size];
    if (!kept.empty()) {
      void* const memory = kept.back();
      kept.pop_back();
      return memory;
    }
  }
  return source_.allocate(size);
}

void StagingPool::send(const void* from, size_t bytes, const QueueCopy& queue_copy) {
  void* const staged = take(bytes);
  std::memcpy(staged, from, bytes);
  std::unique_ptr<PendingCopy> copy;
  try {
    copy = queue_copy(staged);
  } catch (const Failure&) {
    const std::lock_guard lock(mutex_);
    keep(staged, bytes);
    throw;
  }
  const std::lock_guard lock(mutex_);
  busy_.push_back({staged, bytes, {}});
  busy_.back().copies.push_back(std::move(copy));
}

void* StagingPool::lend(size_t bytes) {
  void* memory;
  try {
    memory = take(bytes);
  } catch (const NoMemory&) {  // what is kept may be of other sizes
    release_kept();
    memory = take(bytes);
  }
  const std::lock_guard lock(mutex_);
  lent_[memory].bytes = bytes;
  return memory;
}

void StagingPool::give_back(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = lent_.find(memory);
  if (found == lent_.end()) throw Failure("pinned memory: no such block is lent");
  busy_.push_back({memory, found->second.bytes, std::move(found->second.copies)});
  lent_.erase(found);
  collect();
}

void StagingPool::send_lent(const void* from, const QueueCopy& queue_copy) {
  std::unique_ptr<PendingCopy> copy = queue_copy(from);
  const std::lock_guard lock(mutex_);
  auto found = lent_.upper_bound(from);
  if (found == lent_.begin()) throw Failure("pinned memory: no such block is lent");
  Copies& copies = (--found)->second.copies;
  drop_finished(copies);
  copies.push_back(std::move(copy));
}

void StagingPool::drop_finished(Copies& copies) {
  std::erase_if(copies, [](const auto& copy) { return copy->is_over(); });
}

void StagingPool::release_kept() {
  const std::lock_guard lock(mutex_);
  collect();
  for (const auto& [size, blocks] : kept_) {
    for (void* const memory : blocks) source_.free(memory);
  }
  kept_.clear();
}

void StagingPool::keep(void* memory, size_t bytes) {
  constexpr size_t kMostKept = size_t{64} << 20;
  if (bytes > kMostKept) return source_.free(memory);
  kept_[size_class(bytes)].push_back(memory);
}

/// Takes back what copies are done with.
void StagingPool::collect() {
  const auto first = std::stable_partition(busy_.begin(), busy_.end(), [](Busy& one) {
    drop_finished(one.copies);
    return !one.copies.empty();
  });
  for (auto one = first; one != busy_.end(); ++one) keep(one->memory, one->bytes);
  busy_.erase(first, busy_.end());
}

}  // namespace ebb::devices
