// ebb/devices/launch/memory_pool.cpp -- size classes, taking and giving back.
#include "ebb/devices/launch/memory_pool.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "ebb/core/base/str.h"
#include "ebb/devices/launch/failure.h"

namespace ebb::devices {

size_t detail::large_size_class(size_t bytes) {
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

MemoryPool::Blocks& MemoryPool::find_kept(Place& place, const void* stream, size_t size) {
  place = {stream, size, &kept_[{stream, size}]};
  return *place.blocks;
}

inline MemoryPool::Blocks& MemoryPool::kept_for(const void* stream, size_t size) {
  const uintptr_t mixed = (reinterpret_cast<uintptr_t>(stream) >> 4) ^ size ^ (size >> 9);
  Place& place = places_[mixed % kPlaces];
  // No place has a size of 0, so that one that holds nothing is no match.
  const bool is_it = place.size == size && place.stream == stream;
  if (!is_it) [[unlikely]]
    return find_kept(place, stream, size);
  return *place.blocks;
}

void* MemoryPool::allocate(size_t bytes) {
  void* const memory = source_.allocate(bytes);
  if (memory == nullptr) return nullptr;
  bytes_.reserved += bytes;
  bytes_.peak = std::max(bytes_.peak, bytes_.reserved);
  return memory;
}

void* MemoryPool::take(size_t bytes, const void* stream) {
  const size_t size = size_class(bytes);
  {
    const std::lock_guard lock(mutex_);
    Blocks& kept = kept_for(stream, size);
    if (!kept.empty()) {
      void* const memory = kept.back();
      kept.pop_back();
      return memory;
    }
    if (void* const memory = allocate(size)) return memory;
  }
  release_kept();
  const std::lock_guard lock(mutex_);
  if (void* const memory = allocate(size)) return memory;
  throw NoMemory(str(source_.call, ": no ", size, " bytes, with ", bytes_.reserved, " of ",
                     source_.total_bytes, " in use"));
}

void MemoryPool::give(void* memory, size_t bytes, const void* stream) {
  const std::lock_guard lock(mutex_);
  kept_for(stream, size_class(bytes)).push_back(memory);
}

void MemoryPool::release_kept() {
  Kept kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    places_ = {};
  }
  try {
    source_.finish();
  } catch (const Failure&) {
    keep_again(kept);
    throw;
  }
  for (const auto& [key, blocks] : kept) {
    for (void* const memory : blocks) source_.free(memory);
    const std::lock_guard lock(mutex_);
    bytes_.reserved -= key.second * blocks.size();
  }
}

void MemoryPool::keep_again(Kept& kept) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, blocks] : kept) {
    Blocks& own = kept_[key];
    own.insert(own.end(), blocks.begin(), blocks.end());
  }
}

PoolBytes MemoryPool::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  bytes_.peak = bytes_.reserved;
}

}  // namespace ebb::devices
