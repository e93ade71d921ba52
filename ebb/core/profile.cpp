// ebb/core/profile.cpp -- the clock, each thread's ranges, and the one profile that may be running.
//
// The clock is the processor's time-stamp counter where it runs at a constant rate, which a start
// and a stop compare with the system's clock; elsewhere the system's clock.
#include "ebb/core/profile.h"

#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "ebb/core/error.h"
#include "ebb/core/thread_state.h"

namespace ebb {
namespace {

uint64_t system_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

#ifdef __x86_64__
bool has_constant_counter() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}
const bool counts_ticks = has_constant_counter();
uint64_t ticks() { return counts_ticks ? __rdtsc() : system_ns(); }
#else
constexpr bool counts_ticks = false;
uint64_t ticks() { return system_ns(); }
#endif

/// One moment on both clocks. Of a few tries that with the least time between the two readings.
struct Moment {
  uint64_t tick = 0;
  uint64_t ns = 0;
};
Moment now() {
  Moment best;
  uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t before = ticks();
    const uint64_t ns = system_ns();
    const uint64_t after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + (after - before) / 2, ns};
  }
  return best;
}

/// A shorter time between two moments would show the clocks' jitter.
constexpr uint64_t kLeastCalibration = 2'000'000;  // ns

/// What one thread notes. The lock is for the end only: a thread that still has the mode when the
/// profile stops, though it works for nobody any more, must find that out.
struct Slot {
  std::atomic_flag is_busy;
  bool is_closed = false;
  ThreadProfile noted;

  // Of the thread alone:
  std::vector<ProfileRange> open;  // user ranges
  uint32_t depth = 0;              // ops around the next one
  struct KnownName {
    const char* given = nullptr;
    const char* kept = nullptr;
  };
  std::array<KnownName, 256> names;  // by the address given, whose text is compared
};

class SlotLock {
 public:
  explicit SlotLock(Slot& slot) : slot_(slot) {
    while (slot_.is_busy.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~SlotLock() { slot_.is_busy.clear(std::memory_order_release); }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;

 private:
  Slot& slot_;
};

struct Profile {
  std::vector<std::shared_ptr<Slot>> slots;
  std::thread::id owner;
  Moment start;
};

std::mutex profile_mutex;
std::unique_ptr<Profile> profile;  // null while none is running
std::atomic<uint64_t> changes{1};  // starts and stops: what a thread has from before is stale
std::atomic<uint64_t> lost{0};

thread_local std::shared_ptr<Slot> owned_slot;
thread_local constinit Slot* slot = nullptr;  // null: nothing is to be noted
thread_local constinit uint64_t seen_changes = 0;

[[gnu::noinline]] void join() {
  const std::lock_guard lock(profile_mutex);
  slot = nullptr;
  owned_slot.reset();
  seen_changes = changes.load(std::memory_order_relaxed);
  if (profile == nullptr) return;
  auto made = std::make_shared<Slot>();
  made->noted.thread = static_cast<uint64_t>(gettid());
  profile->slots.push_back(made);
  owned_slot = std::move(made);
  slot = owned_slot.get();
}

/// This thread's slot; null if there is no profile, or no memory.
Slot* current_slot() noexcept {
  if (seen_changes != changes.load(std::memory_order_relaxed)) [[unlikely]] {
    try {
      join();
    } catch (const std::bad_alloc&) {
      lost.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return slot;
}

void keep(Slot& slot, const ProfileRange& range) noexcept {
  const SlotLock lock(slot);
  if (slot.is_closed) return;
  try {
    slot.noted.ranges.push_back(range);
  } catch (const std::bad_alloc&) {
    lost.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

void start_profile() {
  const std::lock_guard lock(profile_mutex);
  if (profile != nullptr) throw ValueError("start_profile: one can run at a time, got a second");
  profile = std::make_unique<Profile>();
  profile->owner = std::this_thread::get_id();
  lost = 0;
  changes.fetch_add(1, std::memory_order_relaxed);
  thread_state.modes |= gate::kProfiler;
  profile->start = now();
}

ProfileReport stop_profile() {
  const uint64_t end = ticks();
  const std::lock_guard lock(profile_mutex);
  if (profile == nullptr) throw ValueError("stop_profile: needs a profile that runs, got none");
  if (profile->owner != std::this_thread::get_id()) {
    throw ValueError("stop_profile: needs the thread that started the profile, got another");
  }
  ProfileReport report;
  report.threads.reserve(profile->slots.size());
  thread_state.modes &= ~gate::kProfiler;
  changes.fetch_add(1, std::memory_order_relaxed);
  for (const std::shared_ptr<Slot>& one : profile->slots) {
    const SlotLock closing(*one);
    one->is_closed = true;
    report.threads.push_back(std::move(one->noted));
  }
  Moment last = now();
  while (counts_ticks && last.ns - profile->start.ns < kLeastCalibration) last = now();
  const auto ns = static_cast<double>(last.ns - profile->start.ns);
  report.start = profile->start.tick;
  report.end = end;
  report.ns_per_tick =
      counts_ticks ? ns / static_cast<double>(last.tick - profile->start.tick) : 1.0;
  report.lost = lost;
  profile.reset();
  return report;
}

const char* intern_range_name(std::string_view name) {
  static std::mutex mutex;
  static auto* const names = new std::unordered_set<std::string>();  // never destroyed
  const std::lock_guard lock(mutex);
  return names->emplace(name).first->c_str();
}

const char* keep_range_name(const char* name) {
  Slot* const slot = current_slot();
  if (slot == nullptr) return intern_range_name(name);
  const auto bits = reinterpret_cast<uintptr_t>(name);
  Slot::KnownName& known = slot->names[(bits ^ (bits >> 8)) % slot->names.size()];
  if (known.given != name || std::strcmp(known.kept, name) != 0) {
    known = {name, intern_range_name(name)};
  }
  return known.kept;
}

void open_user_range(const char* name) {
  if (!is_profiling()) return;
  if (Slot* const slot = current_slot()) {
    slot->open.push_back(
        {name, ticks(), 0, 0, 0, current_location(nullptr), RangeKind::user, false});
  }
}

void close_user_range() noexcept {
  if (!is_profiling()) return;
  Slot* const slot = current_slot();
  if (slot == nullptr || slot->open.empty()) return;  // it was opened before the profile
  ProfileRange range = slot->open.back();
  slot->open.pop_back();
  range.end = ticks();
  keep(*slot, range);
}

OpRange::OpRange(const char* name, LocationId location, uint64_t sequence,
                 bool is_backward) noexcept
    : range_{name, 0, 0, sequence, 0, location, RangeKind::op, is_backward}, slot_(current_slot()) {
  Slot* const slot = static_cast<Slot*>(slot_);
  if (slot != nullptr && slot->depth++ > 0) range_.kind = RangeKind::inner;
  range_.start = ticks();
}

OpRange::~OpRange() {
  range_.end = ticks();
  Slot* const own = static_cast<Slot*>(slot_);
  if (own == nullptr || own != slot) return;  // the profile was stopped inside
  if (own->depth > 0) --own->depth;
  keep(*own, range_);
}

}  // namespace ebb
