// ebb/core/runtime/block_watcher.h -- private to this folder: who is told of blocks of memory.
#pragma once

#include <cstdint>

namespace ebb::detail {

/// Told of each block that the calling thread takes, or gives back (`bytes` is negative then).
using BlockWatcher = void (*)(const void* block, int64_t bytes) noexcept;
/// Null: the calling thread is not watched any more. Defined in allocator.cpp.
void watch_blocks(BlockWatcher watcher) noexcept;

}  // namespace ebb::detail
