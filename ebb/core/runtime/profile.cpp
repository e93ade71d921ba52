// ebb/core/runtime/profile.cpp -- the clock, each thread's ranges, and the one profile that may be
// running.
//
// The clock is the processor's time-stamp counter where it runs at a constant rate, which a start
// and a stop compare with the system's clock; elsewhere the system's clock.
#include "ebb/core/runtime/profile.h"

#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <algorithm>
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

#include "ebb/core/base/error.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/block_watcher.h"
#include "ebb/core/runtime/profile_log.h"
#include "ebb/core/runtime/profile_memory.h"

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

constexpr std::array<const char*, 4> kPhaseNames = {"binding", "shape inference", "kernel",
                                                    "node creation"};

/// What one thread notes: appended to by the thread, copied by whoever stops the profile.
struct Slot {
  uint64_t thread = 0;
  ProfileOptions options;
  detail::ProfileLog<ProfileRange> ranges;
  detail::ProfileLog<RangeMemory> memory;    // of each range
  detail::ProfileLog<const char*> operands;  // the same
  detail::ProfileLog<detail::MemoryEvent> events;

  // Of the thread alone:
  struct UserPart {
    ProfileRange range;
    RangeMemory memory;
  };
  std::vector<UserPart> open;  // user ranges
  std::vector<UserPart> bindings;
  const ProfileRange* innermost = nullptr;  // of the ops around the next one
  detail::MemoryTally tally;
  struct KnownName {
    const char* given = nullptr;
    const char* kept = nullptr;
  };
  std::array<KnownName, 256> names;  // by the address given, whose text is compared
  std::array<std::array<KnownName, kPhaseNames.size()>, 256> phase_names;

  // Where phases are noted:
  struct TakenBlock {
    const void* block = nullptr;
    uint64_t tick = 0;
  };
  std::array<TakenBlock, 64> taken;  // the last ones
  size_t taken_count = 0;
  uint64_t* first_block = nullptr;  // of the innermost op
};

struct Profile {
  std::vector<std::shared_ptr<Slot>> slots;
  std::thread::id owner;
  Moment start;
  ProfileOptions options;
  int64_t memory_at_start = 0;
};

std::mutex profile_mutex;
std::unique_ptr<Profile> profile;  // null while none is running
std::atomic<uint64_t> changes{1};  // starts and stops: what a thread has from before is stale
std::atomic<uint64_t> lost{0};
std::atomic<int64_t> noted_live{0};  // bytes taken since the start, less what was given back

thread_local constinit Slot* slot = nullptr;  // null: nothing is to be noted
thread_local constinit uint64_t seen_changes = 0;

/// A thread's part in its slot. What the thread frees after this is gone is noted nowhere.
struct SlotOwner {
  std::shared_ptr<Slot> owned;
  void take(std::shared_ptr<Slot> made) noexcept {
    slot = made.get();
    owned = std::move(made);
  }
  void drop() noexcept {
    detail::watch_blocks(nullptr);
    slot = nullptr;
    owned.reset();
  }
  SlotOwner() = default;
  ~SlotOwner() { drop(); }
  SlotOwner(const SlotOwner&) = delete;
  SlotOwner& operator=(const SlotOwner&) = delete;
};
thread_local SlotOwner slot_owner;

void note_block(const void* block, int64_t bytes) noexcept;

[[gnu::noinline]] void join() {
  const std::lock_guard lock(profile_mutex);
  slot_owner.drop();
  seen_changes = changes.load(std::memory_order_relaxed);
  if (profile == nullptr) return;
  auto made = std::make_shared<Slot>();
  made->thread = static_cast<uint64_t>(gettid());
  made->options = profile->options;
  profile->slots.push_back(made);
  slot_owner.take(std::move(made));
  if (slot->options.notes_memory || slot->options.notes_phases) detail::watch_blocks(note_block);
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

void note_lost(bool is_kept) noexcept {
  if (!is_kept) [[unlikely]]
    lost.fetch_add(1, std::memory_order_relaxed);
}

/// Where a range begins: what is there now, with a peak of its own from now on.
[[gnu::noinline]] RangeMemory begin_memory(Slot& slot) noexcept {
  detail::MemoryTally& tally = slot.tally;
  const int64_t live = noted_live.load(std::memory_order_relaxed);
  return {tally.allocations, tally.allocated, std::exchange(tally.peak, live), live};
}

/// Where it ends: what happened in between.
[[gnu::noinline]] RangeMemory end_memory(Slot& slot, const RangeMemory& before) noexcept {
  detail::MemoryTally& tally = slot.tally;
  const int64_t live = noted_live.load(std::memory_order_relaxed);
  const int64_t peak = std::max(tally.peak, live);
  tally.peak = std::max(peak, before.peak);
  return {tally.allocations - before.allocations, tally.allocated - before.allocated,
          peak - before.kept, live - before.kept};
}

void keep(Slot& slot, const ProfileRange& range, const RangeMemory& before,
          const char* operands = nullptr) noexcept {
  // The range comes last: whoever finds it finds its memory too.
  if (slot.options.notes_memory) [[unlikely]]
    note_lost(slot.memory.append(end_memory(slot, before)));
  if (slot.options.notes_operands) [[unlikely]]
    note_lost(slot.operands.append(operands));
  note_lost(slot.ranges.append(range));
}

void note_taken(Slot& slot, const void* block) noexcept {
  const uint64_t tick = ticks();
  slot.taken[slot.taken_count++ % slot.taken.size()] = {block, tick};
  if (slot.first_block != nullptr && *slot.first_block == 0) *slot.first_block = tick;
}

/// When the block was taken, if that is not long ago, else 0.
uint64_t tick_of(const Slot& slot, const void* block) noexcept {
  const size_t known = std::min(slot.taken_count, slot.taken.size());
  for (size_t age = 1; age <= known; ++age) {
    const Slot::TakenBlock& one = slot.taken[(slot.taken_count - age) % slot.taken.size()];
    if (one.block == block) return one.tick;
  }
  return 0;
}

void note_block(const void* block, int64_t bytes) noexcept {
  Slot* const own = current_slot();
  if (own == nullptr) return;
  if (own->options.notes_phases && bytes > 0) note_taken(*own, block);
  if (!own->options.notes_memory) return;
  detail::MemoryTally& tally = own->tally;
  const int64_t live = noted_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  tally.peak = std::max(tally.peak, live);
  if (bytes > 0) {
    ++tally.allocations;
    tally.allocated += bytes;
  }
  detail::MemoryEvent event{ticks(), block, bytes, nullptr, 0, 0};
  if (bytes > 0) {
    const ProfileRange* const around = own->innermost;
    event.name = around != nullptr ? around->name : nullptr;
    event.location = around != nullptr ? around->location : current_location(nullptr);
    event.scope = around != nullptr ? ScopeId{around->scope} : thread_state.scope;
  }
  note_lost(own->events.append(event));
}

/// A range that has no times yet.
ProfileRange new_range(const char* name, LocationId location, ScopeId scope, RangeKind kind) {
  ProfileRange range{};
  range.name = name;
  range.location = location;
  range.scope = scope & kMaxScope;
  range.kind = kind;
  return range;
}

/// What a thread has noted, its events left out.
ThreadProfile copy_noted(const Slot& slot) {
  ThreadProfile noted{slot.thread, slot.ranges.copy(), slot.memory.copy(), slot.operands.copy()};
  // A thread that still writes may have kept the memory of a range that was not there yet.
  size_t count = noted.ranges.size();
  if (slot.options.notes_memory) count = std::min(count, noted.memory.size());
  if (slot.options.notes_operands) count = std::min(count, noted.operands.size());
  noted.ranges.resize(count);
  if (slot.options.notes_memory) noted.memory.resize(count);
  if (slot.options.notes_operands) noted.operands.resize(count);
  return noted;
}

/// "matmul kernel"; null if there is no memory.
const char* phase_name(Slot& slot, const char* call, CallPhase phase) noexcept {
  const auto bits = reinterpret_cast<uintptr_t>(call);
  auto& row = slot.phase_names[(bits ^ (bits >> 8)) % slot.phase_names.size()];
  Slot::KnownName& known = row[static_cast<size_t>(phase)];
  if (known.given == call) return known.kept;
  try {
    const std::string text = str(call, ' ', kPhaseNames[static_cast<size_t>(phase)]);
    known = {call, intern_range_name(text)};
    return known.kept;
  } catch (const std::bad_alloc&) {
    note_lost(false);
    return nullptr;
  }
}

/// A part of a call. What it did with memory counts for the call.
void keep_phase(Slot& slot, const char* name, const ProfileRange& call, uint64_t start,
                uint64_t end) noexcept {
  ProfileRange range = new_range(name, call.location, call.scope, RangeKind::phase);
  range.start = start;
  range.end = end;
  keep(slot, range, slot.options.notes_memory ? begin_memory(slot) : RangeMemory{});
}

}  // namespace

void start_profile(const ProfileOptions& options) {
  {
    const std::lock_guard lock(profile_mutex);
    if (profile != nullptr) throw ValueError("start_profile: one can run at a time, got a second");
    profile = std::make_unique<Profile>();
    profile->owner = std::this_thread::get_id();
    profile->options = options;
    profile->memory_at_start = memory_stats().live;
    lost = 0;
    noted_live = 0;
    changes.fetch_add(1, std::memory_order_relaxed);
    thread_state.modes |= gate::kProfiler;
    slot_owner.drop();  // its chunks serve again
    detail::prepare_log_chunks();
    profile->start = now();
  }
  if (options.notes_memory || options.notes_phases) current_slot();  // from the first block on
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
  detail::watch_blocks(nullptr);
  std::vector<detail::MemoryEvent> events;
  for (const std::shared_ptr<Slot>& one : profile->slots) {
    report.threads.push_back(copy_noted(*one));
    const std::vector<detail::MemoryEvent> own = one->events.copy();
    events.insert(events.end(), own.begin(), own.end());
  }
  if (profile->options.notes_memory) {
    report.memory = detail::report_memory(std::move(events), profile->memory_at_start);
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

std::optional<std::string> module_path(ScopeId scope) {
  if (scope == 0) return {};
  std::string path;
  while (scope != 0) {
    const ScopeInfo step = describe_scope(scope);
    if (!path.empty() && !step.name.empty()) path.insert(0, 1, '.');
    path.insert(0, step.name);
    scope = step.parent;
  }
  return path;
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
  Slot* const slot = current_slot();
  if (slot == nullptr) return;
  Slot::UserPart& part = slot->open.emplace_back();
  part.range = new_range(name, current_location(nullptr), thread_state.scope, RangeKind::user);
  if (slot->options.notes_memory) part.memory = begin_memory(*slot);
  part.range.start = ticks();
}

void close_user_range() noexcept {
  if (!is_profiling()) return;
  Slot* const slot = current_slot();
  if (slot == nullptr || slot->open.empty()) return;  // it was opened before the profile
  Slot::UserPart part = slot->open.back();
  slot->open.pop_back();
  part.range.end = ticks();
  keep(*slot, part.range, part.memory);
}

OpRange::OpRange(const char* name, LocationId location, ScopeId scope, uint64_t sequence,
                 bool is_backward) noexcept
    : range_(new_range(name, location, scope, RangeKind::op)), slot_(current_slot()) {
  range_.sequence = sequence;
  range_.is_backward = is_backward;
  Slot* const own = static_cast<Slot*>(slot_);
  if (own != nullptr) {
    outer_ = std::exchange(own->innermost, &range_);
    if (outer_ != nullptr) {
      range_.kind = RangeKind::inner;
      // What a node's rule calls runs outside of all modules, on behalf of the node's.
      if (range_.scope == 0) range_.scope = outer_->scope;
    }
    if (own->options.notes_memory) [[unlikely]]
      memory_ = begin_memory(*own);
    if (own->options.notes_phases) [[unlikely]]
      outer_block_ = std::exchange(own->first_block, &first_block_);
  }
  range_.start = ticks();
}

OpRange::~OpRange() {
  range_.end = ticks();
  Slot* const own = static_cast<Slot*>(slot_);
  if (own == nullptr || own != slot) return;  // the profile was stopped inside
  own->innermost = outer_;
  if (own->options.notes_phases) [[unlikely]]
    own->first_block = outer_block_;
  keep(*own, range_, memory_, operands_);
}

bool OpRange::wants_operands() const noexcept {
  const Slot* const own = static_cast<const Slot*>(slot_);
  return own != nullptr && own == slot && own->options.notes_operands;
}

void OpRange::add_phases(const void* node) noexcept {
  Slot* const own = static_cast<Slot*>(slot_);
  if (own == nullptr || own != slot || !own->options.notes_phases) return;
  const uint64_t now = ticks();
  const uint64_t created = node != nullptr ? tick_of(*own, node) : 0;
  const uint64_t ends = created != 0 ? created : now;
  const auto add = [&](CallPhase phase, uint64_t start, uint64_t end) {
    const char* const name = phase_name(*own, range_.name, phase);
    if (name != nullptr) keep_phase(*own, name, range_, start, end);
  };
  const bool has_inference = first_block_ >= range_.start && first_block_ < ends;
  if (has_inference) add(CallPhase::shape_inference, range_.start, first_block_);
  add(CallPhase::kernel, has_inference ? first_block_ : range_.start, ends);
  if (created != 0) add(CallPhase::node_creation, created, now);
}

void BindingRange::open(const char* name) noexcept {
  Slot* const own = current_slot();
  if (own == nullptr || !own->options.notes_phases) return;
  try {
    const char* const text = phase_name(*own, name, CallPhase::binding);
    if (text == nullptr) return;
    Slot::UserPart& part = own->bindings.emplace_back();
    part.range = new_range(text, current_location(nullptr), thread_state.scope, RangeKind::phase);
    if (own->options.notes_memory) part.memory = begin_memory(*own);
    part.range.start = ticks();
  } catch (const std::bad_alloc&) {
    note_lost(false);
  }
}

void BindingRange::close() noexcept {
  Slot* const own = current_slot();
  if (own == nullptr || own->bindings.empty()) return;  // it was opened before the profile
  Slot::UserPart part = own->bindings.back();
  own->bindings.pop_back();
  part.range.end = ticks();
  keep(*own, part.range, part.memory);
}

void CallRange::open(const char* owner, const char* what, LocationId location) {
  range_.emplace(intern_range_name(std::string(owner) + "." + what), location);
}

}  // namespace ebb
