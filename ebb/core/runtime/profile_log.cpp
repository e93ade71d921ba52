// ebb/core/runtime/profile_log.cpp -- the chunks that no log has now.
#include "ebb/core/runtime/profile_log.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace ebb::detail {
namespace {

constexpr size_t kMostKept = 256;  // 16 MiB
constexpr size_t kPrepared = 16;   // 20,000 ranges

struct FreeChunks {
  std::mutex mutex;
  std::vector<void*> chunks;
};
FreeChunks& free_chunks() {
  static auto* const made = new FreeChunks();  // never destroyed: threads may end after it
  return *made;
}

}  // namespace

void* take_log_chunk() noexcept {
  FreeChunks& free = free_chunks();
  {
    const std::lock_guard lock(free.mutex);
    if (!free.chunks.empty()) {
      void* const chunk = free.chunks.back();
      free.chunks.pop_back();
      return chunk;
    }
  }
  return std::malloc(kChunkBytes);
}

void give_log_chunk(void* chunk) noexcept {
  FreeChunks& free = free_chunks();
  const std::lock_guard lock(free.mutex);
  if (free.chunks.size() < kMostKept) {
    try {
      free.chunks.push_back(chunk);
      return;
    } catch (const std::bad_alloc&) {  // then it is not kept
    }
  }
  std::free(chunk);
}

void prepare_log_chunks() noexcept {
  FreeChunks& free = free_chunks();
  const std::lock_guard lock(free.mutex);
  try {
    free.chunks.reserve(kPrepared);
  } catch (const std::bad_alloc&) {
    return;
  }
  while (free.chunks.size() < kPrepared) {
    void* const chunk = std::malloc(kChunkBytes);
    if (chunk == nullptr) return;
    std::memset(chunk, 0, kChunkBytes);
    free.chunks.push_back(chunk);
  }
}

}  // namespace ebb::detail
