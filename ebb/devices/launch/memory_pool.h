// ebb/devices/launch/memory_pool.h -- device memory in stream order, kept for the next taker.
//
// A pool keeps blocks that were given back, by stream and size class: a stream is in order, so the
// next taker on it may have a block at once. Blocks never change streams; when the device has none
// left, all that is kept goes back to it and the request is tried once more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ebb/core/base/small_mutex.h"

namespace ebb::devices {

namespace detail {
inline constexpr size_t kLeastBlock = 512;
size_t large_size_class(size_t bytes);
}  // namespace detail
/// Eight classes between a power of two and the next: at most an eighth of a block is spare.
inline size_t size_class(size_t bytes) {
  return bytes <= detail::kLeastBlock ? detail::kLeastBlock : detail::large_size_class(bytes);
}

/// Where the memory of a pool comes from.
struct MemorySource {
  const char* call = "";  // what allocates, for messages
  uint64_t total_bytes = 0;
  std::function<void*(size_t bytes)> allocate;  // null if there is none left
  std::function<void(void* memory)> free;
  std::function<void()> finish;  // waits until the device has nothing to do
};

/// The bytes that a pool holds of its device, in use or kept.
struct PoolBytes {
  uint64_t reserved = 0;
  uint64_t peak = 0;
};

/// Memory of one device. Streams are told apart by their addresses.
class MemoryPool {
 public:
  explicit MemoryPool(MemorySource source) : source_(std::move(source)) {}

  /// Throws NoMemory if the device has none left, Failure if it cannot tell.
  void* take(size_t bytes, const void* stream);
  void give(void* memory, size_t bytes, const void* stream);
  /// Gives all that nobody uses back to the device, once its streams are empty.
  void release_kept();
  PoolBytes bytes();
  void reset_peak();

 private:
  using Blocks = std::vector<void*>;
  using Kept = std::map<std::pair<const void*, size_t>, Blocks>;
  /// Where in `kept_` the blocks of a stream and size are, for those that were asked for last.
  struct Place {
    const void* stream = nullptr;
    size_t size = 0;
    Blocks* blocks = nullptr;
  };
  static constexpr size_t kPlaces = 64;

  Blocks& kept_for(const void* stream, size_t size);
  Blocks& find_kept(Place& place, const void* stream, size_t size);
  void* allocate(size_t bytes);
  void keep_again(Kept& kept);

  MemorySource source_;
  SmallMutex mutex_;
  Kept kept_;
  std::array<Place, kPlaces> places_{};
  PoolBytes bytes_;
};

/// A block for the length of a scope; its work on the stream may still run after.
class PoolBlock {
 public:
  PoolBlock(MemoryPool& pool, size_t bytes, const void* stream)
      : pool_(pool), bytes_(bytes), stream_(stream), data_(pool.take(bytes, stream)) {}
  ~PoolBlock() { pool_.give(data_, bytes_, stream_); }
  PoolBlock(const PoolBlock&) = delete;
  PoolBlock& operator=(const PoolBlock&) = delete;
  void* data() const { return data_; }

 private:
  MemoryPool& pool_;
  size_t bytes_;
  const void* stream_;
  void* data_;
};

}  // namespace ebb::devices
