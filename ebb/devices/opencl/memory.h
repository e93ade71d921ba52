// ebb/devices/opencl/memory.h -- device memory in stream order, and host memory for copies.
//
// A MemoryPool keeps blocks that were given back, by stream and size class: a stream is in order,
// so the next taker on it may have a block at once. Blocks never change streams; when the device
// has none left, all that is kept goes back to it and the request is tried once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ebb/devices/opencl/api.h"

namespace ebb::opencl {

struct Queue;

/// Shared virtual memory of one device.
class MemoryPool {
 public:
  /// `finish` waits until the device has nothing to do.
  MemoryPool(cl_context context, uint64_t total_bytes, std::function<void()> finish)
      : context_(context), total_bytes_(total_bytes), finish_(std::move(finish)) {}

  /// Throws Failure if the device has none left.
  void* take(size_t bytes, Queue& queue);
  void give(void* memory, size_t bytes, Queue& queue);
  /// Gives all that nobody uses back to the device, once its queues are empty.
  void release_kept();
  uint64_t reserved_bytes();

 private:
  void* allocate(size_t bytes);

  cl_context context_;
  uint64_t total_bytes_;
  std::function<void()> finish_;
  std::mutex mutex_;
  std::map<std::pair<Queue*, size_t>, std::vector<void*>> kept_;
  uint64_t reserved_ = 0;
};

/// Host memory that copies to a device are made from, so that the caller's may change at once.
class StagingPool {
 public:
  /// Memory for `bytes`, to be handed to busy() once the copy is queued, or to free().
  void* take(size_t bytes);
  void busy(void* memory, size_t bytes, OwnedEvent copy);
  void free(void* memory, size_t bytes);

 private:
  struct Busy {
    void* memory;
    size_t bytes;
    OwnedEvent copy;
  };
  void collect();

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_;
  std::vector<Busy> busy_;
};

}  // namespace ebb::opencl
