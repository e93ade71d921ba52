// ebb/autograd/engine/pacer.cpp -- when to look up, and what for.
#include "ebb/autograd/engine/pacer.h"

#include <sys/single_threaded.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/core/base/location.h"

namespace ebb {
namespace {

std::atomic<bool> is_eager{false};

}  // namespace

void set_eager_teams(bool eager) { is_eager = eager; }

namespace autograd {
namespace {

// In ticks, some 2 to 4 of which make a nanosecond: that is near enough.
constexpr uint64_t kLookPeriod = 60'000;
constexpr uint64_t kCheckPeriod = 100'000'000;
constexpr uint32_t kLongestInterval = 256;  // nodes

// Waking threads in vain makes the next attempt wait twice as long, up to so many looks.
constexpr uint32_t kMostPatience = 4096;
// The first thread of a process makes all its reference counts atomic, hence slower for good.
constexpr uint32_t kFirstThreadPatience = 50;
// Nodes shorter than this are not worth passing their memory to another core.
constexpr uint64_t kShortestNode = 600;  // ticks
// Waking a thread costs about 10 us; less help than this was in vain.
constexpr uint64_t kWorthwhile = 20'000;

/// The processor's own clock where it has one that is cheap to read.
uint64_t now_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns() * 3;
#endif
}

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local const StopSignal* thread_signal = nullptr;
thread_local constinit RunModes* run_modes __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

bool StopSignal::any_set() const {
  for (const StopSignal* signal = this; signal != nullptr; signal = signal->outer) {
    if (signal->is_set.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

StopScope::StopScope(const StopSignal* signal) : saved_(thread_signal) { thread_signal = signal; }
StopScope::~StopScope() { thread_signal = saved_; }
const StopSignal* current_stop_signal() { return thread_signal; }

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

RunModes::RunModes(uint32_t set, uint32_t clear)
    : callers_(thread_state.modes), outer_(std::exchange(run_modes, this)) {
  thread_state.modes = (callers_ & ~clear) | set;
}
RunModes::~RunModes() {
  run_modes = outer_;
  thread_state.modes = callers_;
}

/// The caller's modes and no location, as in the caller's own code, for the length of a scope.
class CallersModes {
 public:
  CallersModes() : run_(run_modes), inside_(thread_state.modes), no_location_(0) {
    if (run_ != nullptr) thread_state.modes = run_->callers_;
  }
  ~CallersModes() {
    if (run_ != nullptr) run_->callers_ = std::exchange(thread_state.modes, inside_);
  }
  CallersModes(const CallersModes&) = delete;
  CallersModes& operator=(const CallersModes&) = delete;

 private:
  RunModes* const run_;
  const uint32_t inside_;
  LocationScope no_location_;
};

void check_for_interrupt() {
  if (interrupt_check.load(std::memory_order_relaxed) == nullptr) return;
  const CallersModes scope;
  check_for_interrupt_here();
}

void check_for_interrupt_here() {
  const InterruptCheck check = interrupt_check.load(std::memory_order_acquire);
  if (check != nullptr) check();
}

RunStopped::RunStopped()
    : AutogradError("backward: needs the run around it to go on, got one that failed") {}

void check_stop_signal(const StopSignal* signal) {
  if (signal != nullptr && signal->any_set()) throw RunStopped();
}

bool has_eager_teams() { return is_eager.load(std::memory_order_relaxed); }

bool TeamJudge::wants_team(bool is_wide) {
  if (has_eager_teams()) return is_wide;
  wide_looks_ = is_wide ? wide_looks_ + 1 : 0;
  const uint32_t needed =
      __libc_single_threaded ? std::max(patience_, kFirstThreadPatience) : patience_;
  if (wide_looks_ < needed) return false;
  wide_looks_ = 0;
  return true;
}

void TeamJudge::note_result(uint64_t helped_ns, uint64_t total_ns) {
  const bool was_worth_it = helped_ns >= kWorthwhile && helped_ns * 4 >= total_ns;
  patience_ = was_worth_it ? 1 : std::min(patience_ * 2, kMostPatience);
}

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool Pacer::has_long_nodes() const { return node_ticks_ >= kShortestNode || has_eager_teams(); }

void Pacer::adapt(uint64_t elapsed) {
  node_ticks_ = elapsed / interval_;
  if (elapsed < kLookPeriod / 2) {
    interval_ = std::min(interval_ * 2, kLongestInterval);
  } else if (elapsed > kLookPeriod * 2) {
    interval_ = static_cast<uint32_t>(std::max<uint64_t>(1, interval_ * kLookPeriod / elapsed));
  }
}

void Pacer::look() {
  const uint64_t now = now_ticks();
  if (last_look_ == 0) {
    next_check_ = now + kCheckPeriod;
  } else {
    adapt(now - last_look_);
  }
  last_look_ = now;
  left_ = has_eager_teams() ? 1 : interval_;
  check_stop_signal(thread_signal);
  if (now < next_check_) return;
  next_check_ = now + kCheckPeriod;
  check_for_interrupt();
}

}  // namespace autograd
}  // namespace ebb
