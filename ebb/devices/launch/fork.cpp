// ebb/devices/launch/fork.cpp -- notices a fork in its child.
#include "ebb/devices/launch/fork.h"

#include <pthread.h>

#include <atomic>

#include "ebb/core/base/str.h"
#include "ebb/devices/launch/failure.h"

namespace ebb::devices {
namespace {

const char* watched = "";
std::atomic<bool> is_child{false};

}  // namespace

void watch_forks(const char* name) {
  watched = name;
  pthread_atfork(nullptr, nullptr, [] { is_child = true; });
}

bool is_forked_child() { return is_child.load(std::memory_order_relaxed); }

void refuse_fork() {
  if (!is_forked_child()) return;
  throw Failure(str(watched, " cannot be used in a child of a fork whose parent had used it"));
}

}  // namespace ebb::devices
