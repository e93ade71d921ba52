// ebb/core/runtime/library_call.cpp -- which threads are inside of a call, and the end.
//
// A thread says that it is inside, then looks whether the end has begun; the end is announced, then
// it is looked who is inside: one of the two sees the other. The end is the destructor of a
// thread-local object of the main thread, since exit() runs these before all handlers. A main
// thread that ends by pthread_exit() runs it, too; the process then goes on, and so do the
// sleepers.
#include "ebb/core/runtime/library_call.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace ebb {
namespace {

// So long the end waits for the calls under way.
constexpr std::chrono::seconds kLastWait(1);
constexpr std::chrono::milliseconds kLook(1), kSleep(50);

std::atomic<bool> has_ended{false};

/// Of one thread.
struct Place {
  std::atomic<int> depth{0};
  Place();
  ~Place();
};

/// Never freed: threads may come after the end.
struct Places {
  std::mutex mutex;
  std::vector<Place*> all;
};
Places& places() {
  static auto* const made = new Places;
  return *made;
}

Place::Place() {
  const std::lock_guard lock(places().mutex);
  places().all.push_back(this);
}
Place::~Place() {
  const std::lock_guard lock(places().mutex);
  std::erase(places().all, this);
}
thread_local Place place;

// The child of a fork has none of the other threads, whose places may be gone.
[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { places().mutex.lock(); }, [] { places().mutex.unlock(); },
                   [] {
                     std::erase_if(places().all, [](const Place* one) { return one != &place; });
                     places().mutex.unlock();
                   });

bool is_main_thread() { return gettid() == getpid(); }

/// Whether the main thread is gone, but the process is not.
bool has_lost_main_thread() {
  std::FILE* const file = std::fopen("/proc/self/stat", "re");
  if (file == nullptr) return false;
  char state = 0;
  const bool is_read = std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  std::fclose(file);
  return is_read && state == 'Z';
}

void wait_for_calls() {
  const auto deadline = std::chrono::steady_clock::now() + kLastWait;
  const Place* const own = &place;
  const auto is_outside = [own](const Place* one) { return one == own || one->depth == 0; };
  do {
    {
      const std::lock_guard lock(places().mutex);
      if (std::ranges::all_of(places().all, is_outside)) return;
    }
    std::this_thread::sleep_for(kLook);
  } while (std::chrono::steady_clock::now() < deadline);
}

struct EndOfMainThread {
  ~EndOfMainThread() {
    if (!is_main_thread()) return;
    has_ended = true;
    wait_for_calls();
  }
};

/// At load, which is on the main thread as a rule.
[[maybe_unused]] const bool is_armed = [] {
  if (!is_main_thread()) return false;
  thread_local const EndOfMainThread end;
  static_cast<void>(&end);
  return true;
}();

[[gnu::cold]] void sleep_until_the_end(Place& own) {
  own.depth = 0;
  while (!has_lost_main_thread()) std::this_thread::sleep_for(kSleep);
  has_ended = false;
  own.depth = 1;
}

}  // namespace

LibraryCall::LibraryCall() {
  Place& own = place;
  const int before = own.depth.load(std::memory_order_relaxed);
  own.depth.exchange(before + 1);
  if (has_ended && before == 0 && !is_main_thread()) [[unlikely]]
    sleep_until_the_end(own);
}

LibraryCall::~LibraryCall() {
  std::atomic<int>& depth = place.depth;  // which this thread alone writes
  depth.store(depth.load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

}  // namespace ebb
