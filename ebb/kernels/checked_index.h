// ebb/kernels/checked_index.h -- reading numbers that are places, where others may write meanwhile.
//
// A tensor's memory may be NumPy's as well, and another thread may write it at any time. So a
// number from memory that becomes an address, a size or a count is read once (read_once), checked
// (is_index) and used from that local; a check in a pass before makes an error come before anything
// is written, but no loop safe. What is out of range is left out, and the kernel ends by throwing
// it (FirstWrong) to whoever knows the op's name (ops/index_check.h).
#pragma once

#include <cstdint>
#include <mutex>

namespace ebb::kernels {

/// One load, which the compiler may not repeat later.
template <typename T>
inline T read_once(const T* place) {
  return __atomic_load_n(place, __ATOMIC_RELAXED);
}

/// Whether 0 <= index < size.
inline bool is_index(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size);
}

/// What a kernel throws that met an index out of range, which it used for nothing.
struct WrongIndex {
  int64_t value = 0;
  int64_t position = -1;  // row-major in the index, if known
};

/// The first wrong index among those that the pieces of a kernel meet.
class FirstWrong {
 public:
  /// Apart, so that loops which never call it keep their registers.
  [[gnu::noinline, gnu::cold]] void note(int64_t value, int64_t position = -1) {
    const std::lock_guard lock(mutex_);
    if (!is_found_ || position < wrong_.position) wrong_ = {value, position};
    is_found_ = true;
  }
  /// For the end of the kernel, when all pieces are done.
  void throw_if_found() const {
    if (is_found_) [[unlikely]]
      throw wrong_;
  }

 private:
  std::mutex mutex_;
  bool is_found_ = false;
  WrongIndex wrong_;
};

}  // namespace ebb::kernels
