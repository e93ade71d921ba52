// ebb/core/runtime/arena.cpp -- chunks carved into blocks, central lists of free blocks, large
// mappings.
//
// Chunks are aligned to 2 MiB and ask for huge pages: the first touch of a page costs a fault, and
// a graph of millions of nodes is built on fresh pages. Blocks whose size is a multiple of 64 are
// carved from chunks of their own, so that they are aligned to 64.
#include "ebb/core/runtime/arena.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "ebb/core/runtime/size_class.h"

namespace ebb::detail {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargeChunk = size_t{32} << 20;

std::atomic<int64_t> mapped_bytes{0};

/// Memory from the system, aligned to a huge page; null if it has none.
void* map_aligned(size_t bytes) {
  const size_t padded = bytes + kHugePage;
  if (padded < bytes) return nullptr;
  void* const raw =
      mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (start + kHugePage - 1) & ~(kHugePage - 1);
  const size_t before = aligned - start;
  const size_t after = padded - before - bytes;
  if (before > 0) munmap(raw, before);
  if (after > 0) munmap(reinterpret_cast<void*>(aligned + bytes), after);
  auto* const block = reinterpret_cast<void*>(aligned);
  madvise(block, bytes, MADV_HUGEPAGE);  // advice only: without huge pages nothing breaks
  mapped_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return block;
}

/// A chunk that blocks are cut from, front to back.
struct Chunk {
  char* next = nullptr;
  char* end = nullptr;

  void* carve(size_t bytes, size_t chunk_bytes) {
    if (next == nullptr || static_cast<size_t>(end - next) < bytes) {
      next = static_cast<char*>(map_aligned(chunk_bytes));
      if (next == nullptr) return nullptr;
      end = next + chunk_bytes;
    }
    return std::exchange(next, next + bytes);
  }
};

/// Free blocks of one class, in batches so that a long list never has to be copied.
struct CentralList {
  struct Batch {
    Batch* below;
    size_t count;
    void* blocks[126];
  };
  std::mutex mutex;
  Batch* top = nullptr;

  size_t pop(void** out, size_t wanted) {
    const std::lock_guard lock(mutex);
    size_t taken = 0;
    while (taken < wanted && top != nullptr) {
      const size_t count = std::min(wanted - taken, top->count);
      top->count -= count;
      std::copy_n(top->blocks + top->count, count, out + taken);
      taken += count;
      if (top->count == 0) std::free(std::exchange(top, top->below));
    }
    return taken;
  }
  void push(void** blocks, size_t count) noexcept {
    const std::lock_guard lock(mutex);
    while (count > 0) {
      if (top == nullptr || top->count == std::size(top->blocks)) {
        auto* const batch = static_cast<Batch*>(std::malloc(sizeof(Batch)));
        if (batch == nullptr) return;  // out of memory while freeing: the blocks are given up
        *batch = {.below = top, .count = 0, .blocks = {}};
        top = batch;
      }
      const size_t room = std::min(count, std::size(top->blocks) - top->count);
      std::copy_n(blocks, room, top->blocks + top->count);
      top->count += room;
      blocks += room;
      count -= room;
    }
  }
};

/// Free mappings of one size, and when one was last put there.
struct KeptSize {
  std::vector<void*> blocks;
  uint64_t last_use = 0;
};

/// Everything that threads share. Never destroyed: blocks are freed until the very end of a
/// process.
struct Arena {
  std::mutex chunk_mutex;
  Chunk aligned_chunk, unaligned_chunk, medium_chunk;
  std::array<CentralList, kClasses> central;
  std::mutex large_mutex;
  std::map<size_t, KeptSize> kept;
  size_t kept_bytes = 0;
  uint64_t uses = 0;
  size_t large_live = 0;
  size_t large_peak = 0;
};

Arena& arena() {
  static Arena* const instance = [] {
    auto* const made = new Arena();
    // A fork while another thread holds one of the locks would leave it locked for ever.
    pthread_atfork(
        [] {
          for (CentralList& list : arena().central) list.mutex.lock();
          arena().chunk_mutex.lock();
          arena().large_mutex.lock();
        },
        [] {
          arena().large_mutex.unlock();
          arena().chunk_mutex.unlock();
          for (CentralList& list : arena().central) list.mutex.unlock();
        },
        [] {
          arena().large_mutex.unlock();
          arena().chunk_mutex.unlock();
          for (CentralList& list : arena().central) list.mutex.unlock();
        });
    return made;
  }();
  return *instance;
}

// Made at load time: a fork while another thread is in the middle of making it would leave the
// child waiting for that thread for ever.
[[maybe_unused]] const Arena& made_early = arena();

size_t carve_blocks(int index, void** out, size_t wanted) {
  Arena& shared = arena();
  const size_t bytes = class_bytes(index);
  const bool is_small = index < kSmallClasses;
  Chunk& chunk = !is_small         ? shared.medium_chunk
                 : bytes % 64 == 0 ? shared.aligned_chunk
                                   : shared.unaligned_chunk;
  // A large block is a large part of what a thread may keep: take one at a time.
  const size_t count = std::min(wanted, std::max<size_t>(1, (size_t{64} << 10) / bytes));
  const std::lock_guard lock(shared.chunk_mutex);
  for (size_t made = 0; made < count; ++made) {
    out[made] = chunk.carve(bytes, is_small ? kHugePage : kLargeChunk);
    if (out[made] == nullptr) return made;
  }
  return count;
}

}  // namespace

size_t take_blocks(int index, void** out, size_t wanted) {
  const size_t taken = arena().central[static_cast<size_t>(index)].pop(out, wanted);
  return taken > 0 ? taken : carve_blocks(index, out, wanted);
}

void give_blocks(int index, void** blocks, size_t count) noexcept {
  arena().central[static_cast<size_t>(index)].push(blocks, count);
}

void* map_large(size_t bytes) {
  const size_t rounded = large_bytes(bytes);
  if (rounded < bytes) return nullptr;
  Arena& shared = arena();
  const std::lock_guard lock(shared.large_mutex);
  void* block = nullptr;
  if (const auto found = shared.kept.find(rounded); found != shared.kept.end()) {
    block = found->second.blocks.back();
    found->second.blocks.pop_back();
    if (found->second.blocks.empty()) shared.kept.erase(found);
    shared.kept_bytes -= rounded;
  } else {
    block = map_aligned(rounded);
  }
  if (block == nullptr) return nullptr;
  shared.large_live += rounded;
  shared.large_peak = std::max(shared.large_peak, shared.large_live);
  return block;
}

namespace {

void unmap(void* block, size_t bytes) noexcept {
  munmap(block, bytes);
  mapped_bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

/// Gives the system one mapping of the size that has been out of use for longest.
void drop_oldest(Arena& shared) noexcept {
  const auto oldest = std::min_element(
      shared.kept.begin(), shared.kept.end(),
      [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
  unmap(oldest->second.blocks.back(), oldest->first);
  shared.kept_bytes -= oldest->first;
  oldest->second.blocks.pop_back();
  if (oldest->second.blocks.empty()) shared.kept.erase(oldest);
}

}  // namespace

void unmap_large(void* block, size_t bytes) noexcept {
  const size_t rounded = large_bytes(bytes);
  Arena& shared = arena();
  const std::lock_guard lock(shared.large_mutex);
  shared.large_live -= rounded;
  try {
    KeptSize& same = shared.kept[rounded];
    same.blocks.push_back(block);
    same.last_use = ++shared.uses;
    shared.kept_bytes += rounded;
  } catch (const std::bad_alloc&) {  // no room for the note: let the block go instead
    const auto found = shared.kept.find(rounded);
    if (found != shared.kept.end() && found->second.blocks.empty()) shared.kept.erase(found);
    unmap(block, rounded);
  }
  // A program that has moved on to other sizes must not find the room taken by the old ones.
  while (shared.large_live + shared.kept_bytes > shared.large_peak) drop_oldest(shared);
}

void unmap_cached() noexcept {
  Arena& shared = arena();
  const std::lock_guard lock(shared.large_mutex);
  for (const auto& [bytes, size] : shared.kept) {
    for (void* block : size.blocks) unmap(block, bytes);
  }
  shared.kept.clear();
  shared.kept_bytes = 0;
  shared.large_peak = shared.large_live;
}

int64_t reserved_bytes() { return mapped_bytes.load(std::memory_order_relaxed); }

}  // namespace ebb::detail
