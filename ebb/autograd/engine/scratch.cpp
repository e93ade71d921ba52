// ebb/autograd/engine/scratch.cpp -- numbers of runs, and freeing what a failed run leaves in
// slots.
#include "ebb/autograd/engine/scratch.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "ebb/autograd/history/gradients/slot.h"

namespace ebb::autograd {

constinit RunTable run_table;

namespace {

// A fork must not catch another thread with the lock. Numbers of runs whose threads the child does
// not have stay taken there: what they left in nodes must not be trusted.
[[maybe_unused]] const int run_fork_handlers =
    pthread_atfork([] { run_table.taking.lock(); }, [] { run_table.taking.unlock(); },
                   [] { run_table.taking.unlock(); });

}  // namespace

void TakingLock::wait_for_lock() {
  constexpr int kYields = 100;
  for (int attempt = 0; is_held_.exchange(true, std::memory_order_acquire); ++attempt) {
    if (attempt < kYields) {
      std::this_thread::yield();
    } else {  // somebody takes millions of nodes
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

void release_slots(TensorImpl** slots, uint32_t count) noexcept {
  for (uint32_t index = 0; index < count; ++index) {
    release_slot(std::exchange(slots[index], nullptr));
  }
}

std::atomic<uint32_t>* RunNumber::find_place() {
  std::atomic<uint32_t>* free_place = nullptr;
  for (int index = 0; index < run_table.used_places; ++index) {
    std::atomic<uint32_t>& place = run_table.in_progress[index];
    if (place.load(std::memory_order_acquire) != 0) {
      has_others_ = true;
    } else if (free_place == nullptr) {
      free_place = &place;
    }
  }
  if (free_place != nullptr || run_table.used_places == RunTable::kMostRuns) return free_place;
  return &run_table.in_progress[run_table.used_places++];
}

bool RunNumber::is_of_other(uint32_t number) const {
  if (number == 0 || number == number_) return false;
  const std::span places(run_table.in_progress, static_cast<size_t>(run_table.used_places));
  return std::any_of(places.begin(), places.end(), [&](const std::atomic<uint32_t>& place) {
    return place.load(std::memory_order_acquire) == number;
  });
}

}  // namespace ebb::autograd
