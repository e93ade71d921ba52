// ebb/devices/opencl/memory.cpp -- size classes, taking and giving back.
#include "ebb/devices/opencl/memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "ebb/core/base/str.h"

namespace ebb::opencl {
namespace {

constexpr size_t kLeastBlock = 512;
constexpr size_t kMostStaged = size_t{64} << 20;  // larger ones are not kept

/// Eight classes between a power of two and the next: at most an eighth of a block is spare.
size_t class_of(size_t bytes) {
  if (bytes <= kLeastBlock) return kLeastBlock;
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

void* MemoryPool::allocate(size_t bytes) {
  constexpr cl_uint kAlignment = 128;
  void* const memory = clSVMAlloc(context_, CL_MEM_READ_WRITE, bytes, kAlignment);
  if (memory != nullptr) reserved_ += bytes;
  return memory;
}

void* MemoryPool::take(size_t bytes, Queue& queue) {
  const size_t size = class_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& kept = kept_[{&queue, size}];
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
  throw Failure(
      str("clSVMAlloc: no ", size, " bytes, with ", reserved_, " of ", total_bytes_, " in use"));
}

void MemoryPool::give(void* memory, size_t bytes, Queue& queue) {
  const std::lock_guard lock(mutex_);
  kept_[{&queue, class_of(bytes)}].push_back(memory);
}

void MemoryPool::release_kept() {
  std::map<std::pair<Queue*, size_t>, std::vector<void*>> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(kept_);
    for (const auto& [key, blocks] : kept) reserved_ -= key.second * blocks.size();
  }
  finish_();
  for (const auto& [key, blocks] : kept) {
    for (void* const memory : blocks) clSVMFree(context_, memory);
  }
}

uint64_t MemoryPool::reserved_bytes() {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

void* StagingPool::take(size_t bytes) {
  const size_t size = class_of(bytes);
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
  void* const memory = std::aligned_alloc(kLeastBlock / 8, (size + 63) / 64 * 64);
  if (memory == nullptr) throw Failure(str("staging: the host has no ", size, " bytes"));
  return memory;
}

void StagingPool::busy(void* memory, size_t bytes, OwnedEvent copy) {
  const std::lock_guard lock(mutex_);
  busy_.push_back({memory, bytes, std::move(copy)});
}

void StagingPool::free(void* memory, size_t bytes) {
  if (bytes > kMostStaged) return std::free(memory);
  const std::lock_guard lock(mutex_);
  kept_[class_of(bytes)].push_back(memory);
}

/// Takes back what copies are done with, or failed with.
void StagingPool::collect() {
  const auto is_over = [](const Busy& one) {
    cl_int status = CL_QUEUED;
    clGetEventInfo(one.copy.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                   nullptr);
    return status <= CL_COMPLETE;
  };
  const auto first = std::stable_partition(busy_.begin(), busy_.end(),
                                           [&](const Busy& one) { return !is_over(one); });
  for (auto one = first; one != busy_.end(); ++one) {
    if (one->bytes > kMostStaged) {
      std::free(one->memory);
    } else {
      kept_[class_of(one->bytes)].push_back(one->memory);
    }
  }
  busy_.erase(first, busy_.end());
}

}  // namespace ebb::opencl
