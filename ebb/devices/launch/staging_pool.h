// ebb/devices/launch/staging_pool.h -- host memory that copies to a device are made from, so that
// the caller's may change at once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ebb::devices {

/// A copy that may still read its block.
class PendingCopy {
 public:
  PendingCopy() = default;
  virtual ~PendingCopy() = default;
  PendingCopy(const PendingCopy&) = delete;
  PendingCopy& operator=(const PendingCopy&) = delete;
  /// Whether it is done, or has failed.
  virtual bool is_over() = 0;
};

/// Where blocks come from.
struct HostSource {
  std::function<void*(size_t bytes)> allocate;  // throws Failure
  std::function<void(void* memory)> free;
};

/// Blocks of host memory, by size class; large ones are not kept.
class StagingPool {
 public:
  explicit StagingPool(HostSource source) : source_(std::move(source)) {}

  /// Queues a copy to a device.
  using QueueCopy = std::function<std::unique_ptr<PendingCopy>(const void* staged)>;
  /// Stages `from`, which may change after, and calls `queue_copy`, which throws if the block is
  /// free again at once.
  void send(const void* from, size_t bytes, const QueueCopy& queue_copy);
  /// Gives all blocks back that no copy reads.
  void release_kept();

 private:
  struct Busy {
    void* memory;
    size_t bytes;
    std::unique_ptr<PendingCopy> copy;
  };
  void* take(size_t bytes);
  void collect();
  void keep(void* memory, size_t bytes);

  HostSource source_;
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_;
  std::vector<Busy> busy_;
};

}  // namespace ebb::devices
