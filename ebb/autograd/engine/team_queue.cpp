// ebb/autograd/engine/team_queue.cpp -- offering, taking, waiting, stopping.
#include "ebb/autograd/engine/team_queue.h"

#include <chrono>
#include <thread>

namespace ebb::autograd {
namespace {

// A lane looks for work for so long before it sleeps, ...
constexpr uint64_t kSpin = 40'000;  // ns
// ... the caller for longer: the run ends when it wakes, which can take as long as a branch.
constexpr uint64_t kCallerSpin = 500'000;  // ns
// ... and a helper sleeps for so long before it leaves.
constexpr std::chrono::milliseconds kPatience(2);
// Without company for so long, the caller goes on alone.
constexpr uint64_t kLonely = 1'000'000;  // ns
constexpr std::chrono::milliseconds kInterruptPeriod(50);
// Only in tests that need company: until another lane has come, and until it has taken a node.
constexpr uint64_t kCompanyPatience = 1'000'000'000;  // ns
constexpr uint64_t kEagerPatience = 10'000'000'000;   // ns

}  // namespace

TeamQueue::TeamQueue() : started_(now_ns()) { signal_.outer = current_stop_signal(); }

bool TeamQueue::join(LaneRole /*role*/) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || stops()) return false;
  ++lanes_;
  return true;
}

void TeamQueue::leave(LaneRole role) {
  const std::lock_guard lock(mutex_);
  --lanes_;
  if (role == LaneRole::caller) is_over_ = true;
  announce();
}

void TeamQueue::wait_for_company() const {
  while (hungry_.load(std::memory_order_relaxed) == 0 && now_ns() - started_ < kCompanyPatience) {
    std::this_thread::yield();
  }
}

/// Call under the mutex.
void TeamQueue::announce() noexcept {
  const int offers = static_cast<int>(offered_.size());
  hungry_.store(idle_ - offers, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

void TeamQueue::offer(Node* node) {
  const std::lock_guard lock(mutex_);
  offered_.push_back(node);
  announce();
}

void TeamQueue::keep_for_caller(Node* node) {
  const std::lock_guard lock(mutex_);
  for_caller_.push_back(node);
  announce();
}

void TeamQueue::set_aside(Node* node) {
  const std::lock_guard lock(mutex_);
  set_aside_.push_back(node);
}

TeamQueue::Verdict TeamQueue::try_take(LaneRole role, Node*& node) {
  if (is_over_ || stops()) return Verdict::leave;
  std::vector<Node*>& first =
      role == LaneRole::caller && !for_caller_.empty() ? for_caller_ : offered_;
  if (!first.empty()) {
    node = first.back();
    first.pop_back();
    return Verdict::got;
  }
  if (idle_ < lanes_ || !for_caller_.empty()) return Verdict::wait;
  is_over_ = true;
  return Verdict::leave;
}

/// Returns after a change, or after a while. Another thread that wants the core gets it meanwhile.
void TeamQueue::wait_for_change(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen) {
  lock.unlock();
  const uint64_t deadline = now_ns() + (role == LaneRole::caller ? kCallerSpin : kSpin);
  do {
    for (int look = 0; look < 64; ++look) {
      if (changes_.load(std::memory_order_acquire) != seen) return lock.lock();
    }
    std::this_thread::yield();
  } while (now_ns() < deadline);
  lock.lock();
}

/// For tests: the caller does not at once take back what it offered. A lane that waits for a node
/// gets it, however busy the machine; those at work get a moment.
void TeamQueue::let_others_take() {
  const uint64_t start = now_ns();
  while (true) {
    const uint64_t patience = patience_with_others();
    if (now_ns() - start >= patience) return;
    std::this_thread::yield();
  }
}

/// How long the caller leaves to others what it has offered.
uint64_t TeamQueue::patience_with_others() {
  const std::lock_guard lock(mutex_);
  if (offered_.empty() || lanes_ == 1) return 0;
  return idle_ > 0 ? kEagerPatience : 5'000'000;
}

Node* TeamQueue::take(LaneRole role) {
  if (has_eager_teams() && role == LaneRole::caller) let_others_take();
  Node* node = nullptr;
  std::unique_lock lock(mutex_);
  ++idle_;
  announce();
  while (true) {
    const uint64_t seen = changes_;
    const Verdict verdict = try_take(role, node);
    if (verdict != Verdict::wait) break;
    wait_for_change(role, lock, seen);
    if (changes_ != seen) continue;
    const bool is_helper = role == LaneRole::helper;
    const auto status = changed_.wait_for(lock, is_helper ? kPatience : kInterruptPeriod);
    if (status == std::cv_status::no_timeout || changes_ != seen) continue;
    if (is_helper && has_eager_teams()) continue;
    if (is_helper) break;
    lock.unlock();
    try {
      check_stop_signal(&signal_);
      check_for_interrupt();
    } catch (...) {
      fail(UINT64_MAX);
    }
    lock.lock();
  }
  --idle_;
  announce();
  return node;
}

void TeamQueue::fail(uint64_t sequence) noexcept {
  {
    const std::lock_guard lock(mutex_);
    error_.note(sequence);
  }
  signal_.is_set.store(true, std::memory_order_relaxed);
  stop();
}

void TeamQueue::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stops_.store(true, std::memory_order_relaxed);
  announce();
}

bool TeamQueue::is_deserted() const {
  return lanes_.load(std::memory_order_relaxed) == 1 && now_ns() - started_ > kLonely;
}

std::vector<Node*> TeamQueue::collect() {
  const std::lock_guard lock(mutex_);
  error_.rethrow();
  std::vector<Node*> left = std::move(set_aside_);
  left.insert(left.end(), for_caller_.begin(), for_caller_.end());
  left.insert(left.end(), offered_.begin(), offered_.end());
  return left;
}

}  // namespace ebb::autograd
