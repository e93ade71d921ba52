// ebb/core/runtime/counted_vector.h -- a vector in memory of allocate(): CountedVector.
//
// What grows with the operands of a call must be counted, held to the limit and refused in tests as
// the memory of tensors is, so kernels and bodies of ops keep no numbers in plain vectors.
#pragma once

#include <vector>

#include "ebb/core/runtime/allocator.h"

namespace ebb {

template <typename T>
struct CountedAllocator {
  using value_type = T;

  CountedAllocator() = default;
  template <typename U>
  CountedAllocator(const CountedAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(ebb::allocate(count * sizeof(T))); }
  void deallocate(T* block, size_t count) noexcept { ebb::deallocate(block, count * sizeof(T)); }
  bool operator==(const CountedAllocator&) const = default;
};

template <typename T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

}  // namespace ebb
