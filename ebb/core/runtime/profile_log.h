// ebb/core/runtime/profile_log.h -- private to this folder: a list that one thread appends to while
// a profile runs.
//
// Items lie in chunks that never move, and a count says how many of them may be read: the thread
// publishes with one store and takes no lock, and whoever stops the profile copies what is there by
// then. A thread that still writes afterwards does no harm, as chunks live as long as their list.
// They are kept for the next profile, since touching memory for the first time takes longer than
// noting what goes there.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

namespace ebb::detail {

inline constexpr size_t kChunkBytes = size_t{64} << 10;

/// Memory of kChunkBytes, used before if possible; null if there is none.
void* take_log_chunk() noexcept;
void give_log_chunk(void* chunk) noexcept;
/// Makes sure that some chunks are there, whose memory has been touched.
void prepare_log_chunks() noexcept;

template <typename Item>
class ProfileLog {
 public:
  ProfileLog() = default;
  ~ProfileLog() {
    while (first_ != nullptr) {
      Chunk* const next = first_->next;
      give_log_chunk(first_);
      first_ = next;
    }
  }
  ProfileLog(const ProfileLog&) = delete;
  ProfileLog& operator=(const ProfileLog&) = delete;

  /// Whether there was memory for it.
  bool append(const Item& item) noexcept {
    if (next_ == end_ && !grow()) [[unlikely]]
      return false;
    *next_++ = item;
    const size_t count = count_.load(std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  /// On any thread. Throws std::bad_alloc.
  std::vector<Item> copy() const {
    size_t left = count_.load(std::memory_order_acquire);
    std::vector<Item> items;
    items.reserve(left);
    // Beyond what was published, the thread may be writing: not even the next chunk is looked up.
    const Chunk* chunk = left > 0 ? first_ : nullptr;
    while (left > 0) {
      const size_t here = left < kPerChunk ? left : kPerChunk;
      items.insert(items.end(), chunk->items(), chunk->items() + here);
      left -= here;
      if (left > 0) chunk = chunk->next;
    }
    return items;
  }

 private:
  struct alignas(16) Chunk {
    Chunk* next = nullptr;
    Item* items() { return reinterpret_cast<Item*>(this + 1); }
    const Item* items() const { return reinterpret_cast<const Item*>(this + 1); }
  };
  static constexpr size_t kPerChunk = (kChunkBytes - sizeof(Chunk)) / sizeof(Item);

  [[gnu::noinline]] bool grow() noexcept {
    void* const memory = take_log_chunk();
    if (memory == nullptr) return false;
    auto* const chunk = new (memory) Chunk();
    (last_ == nullptr ? first_ : last_->next) = chunk;
    last_ = chunk;
    next_ = chunk->items();
    end_ = next_ + kPerChunk;
    return true;
  }

  std::atomic<size_t> count_{0};
  Item* next_ = nullptr;
  Item* end_ = nullptr;
  Chunk* last_ = nullptr;
  Chunk* first_ = nullptr;  // read by others once an item is published
};

}  // namespace ebb::detail
