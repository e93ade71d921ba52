// ebb/devices/launch/fork.cpp -- notices a fork in its child.
#include "ebb/devices/launch/fork.h"

#include <pthread.h>

#include "ebb/core/base/str.h"
#include "ebb/devices/launch/failure.h"

namespace ebb::devices {

constinit std::atomic<bool> detail::is_child{false};

namespace {

const char* watched = "";

}  // namespace

void watch_forks(const char* name) {
  watched = name;
  pthread_atfork(nullptr, nullptr, [] { detail::is_child = true; });
}

void detail::throw_forked() {
  throw Failure(str(watched, " cannot be used in a child of a fork whose parent had used it"));
}

}  // namespace ebb::devices
