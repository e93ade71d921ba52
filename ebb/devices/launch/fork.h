// ebb/devices/launch/fork.h -- a child of a fork must not use what its parent made of a device: the
// threads behind it are not there.
#pragma once

#include <atomic>

namespace ebb::devices {

/// From now on children are refused; `name` is that of the back end, in messages.
void watch_forks(const char* name);
namespace detail {
extern std::atomic<bool> is_child;
[[noreturn]] void throw_forked();
}  // namespace detail
/// Whether this process is a child of one that had called watch_forks().
inline bool is_forked_child() { return detail::is_child.load(std::memory_order_relaxed); }
/// Throws Failure if it is.
inline void refuse_fork() {
  if (is_forked_child()) [[unlikely]]
    detail::throw_forked();
}

}  // namespace ebb::devices
