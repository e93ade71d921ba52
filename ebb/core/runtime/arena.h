// ebb/core/runtime/arena.h -- memory from the operating system: fresh blocks, central free lists,
// mappings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ebb::detail {

/// Writes up to `wanted` free blocks of a class to `out`, fresh ones if need be. Returns how many.
size_t take_blocks(int index, void** out, size_t wanted);
/// Gives blocks of a class back for any thread to use.
void give_blocks(int index, void** blocks, size_t count) noexcept;

/// A mapping for a request above kCachedLimit, reused if one of its size is free; null if refused.
void* map_large(size_t bytes);
/// Keeps the mapping for reuse. Used and kept ones together never exceed what was once in use: the
/// size that has been out of use for longest goes first.
void unmap_large(void* block, size_t bytes) noexcept;
/// Returns all kept mappings to the system.
void unmap_cached() noexcept;

/// Bytes held from the operating system.
int64_t reserved_bytes();

}  // namespace ebb::detail
