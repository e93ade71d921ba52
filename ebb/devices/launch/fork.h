// ebb/devices/launch/fork.h -- a child of a fork must not use what its parent made of a device: the
// threads behind it are not there.
#pragma once

namespace ebb::devices {

/// From now on children are refused; `name` is that of the back end, in messages.
void watch_forks(const char* name);
/// Whether this process is a child of one that had called watch_forks().
bool is_forked_child();
/// Throws Failure if it is.
void refuse_fork();

}  // namespace ebb::devices
