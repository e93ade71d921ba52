// ebb/devices/launch/staging_pool.h -- host memory that copies to a device are made from.
//
// send() puts what it copies into a block first, so that the caller's memory may change at once.
// lend() gives blocks out, as pinned tensors: copies read those where they are, with send_lent(),
// and a block that comes back while some are under way is nobody's until they are over.
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

/// Where blocks come from, aligned to 64 bytes.
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

  /// A block until give_back(). Throws Failure if there is none left.
  void* lend(size_t bytes);
  void give_back(void* memory);
  /// Calls `queue_copy` for memory within a lent block.
  void send_lent(const void* from, const QueueCopy& queue_copy);

  /// Gives all blocks back that no copy reads.
  void release_kept();

 private:
  using Copies = std::vector<std::unique_ptr<PendingCopy>>;
  struct Busy {
    void* memory;
    size_t bytes;
    Copies copies;
  };
  struct Lent {
    size_t bytes;
    Copies copies;
  };
  static void drop_finished(Copies& copies);
  void* take(size_t bytes);
  void collect();
  void keep(void* memory, size_t bytes);

  HostSource source_;
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_;
  std::vector<Busy> busy_;
  std::map<const void*, Lent> lent_;  // by where a block begins
};

}  // namespace ebb::devices
