// ebb/autograd/engine/board.cpp -- passing nodes on, waiting for them, stopping.
#include "ebb/autograd/engine/board.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

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
// Only in tests that need company: until another lane has come, and until it has taken a node.
constexpr uint64_t kCompanyPatience = 1'000'000'000;  // ns
constexpr uint64_t kEagerPatience = 10'000'000'000;   // ns

Node* pop_back(std::vector<Node*>& nodes) {
  if (nodes.empty()) return nullptr;
  Node* const node = nodes.back();
  nodes.pop_back();
  return node;
}

void append(const std::vector<Node*>& nodes, std::vector<Node*>& all) {
  all.insert(all.end(), nodes.begin(), nodes.end());
}

}  // namespace

Board::Board(size_t workers) : lists_(1 + workers), started_(now_ns()) {
  signal_.outer = current_stop_signal();
}

bool Board::join() {
  const std::lock_guard lock(mutex_);
  if (is_over_ || stops()) return false;
  ++lanes_;
  return true;
}

void Board::leave(LaneRole role) {
  const std::lock_guard lock(mutex_);
  --lanes_;
  if (role == LaneRole::caller) is_over_ = true;
  announce();
}

void Board::wait_for_company() const {
  while (hungry_.load(std::memory_order_relaxed) == 0 && now_ns() - started_ < kCompanyPatience) {
    std::this_thread::yield();
  }
}

bool Board::is_deserted() const { return is_alone() && now_ns() - started_ > kLonely; }

void Board::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return lanes_ == 0; });
}

/// Call under the mutex.
void Board::announce() noexcept {
  const int offers = static_cast<int>(offered_.size());
  hungry_.store(idle_ - offers, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

bool Board::push(size_t number, Node* node) {
  const std::lock_guard lock(mutex_);
  List& list = lists_[number];
  if (node->edge_count() == 0) {
    leaves_.push_back(node);
  } else {
    list.nodes.push(node);
  }
  if (number == 0) announce();
  if (number == 0 || list.is_busy) return false;
  list.is_busy = true;
  ++lanes_;
  return true;
}

void Board::offer(Node* node) {
  const std::lock_guard lock(mutex_);
  offered_.push_back(node);
  announce();
}

void Board::set_aside(Node* node) {
  const std::lock_guard lock(mutex_);
  set_aside_.push_back(node);
}

Node* Board::List::pop() {
  Node* const node = nodes.pop();
  running = node == nullptr ? 0 : node->sequence();
  return node;
}

/// For a worker, under one lock: what is pushed later finds it gone.
Node* Board::take_or_leave(List& list) {
  const std::lock_guard lock(mutex_);
  list.running = 0;
  Node* const node = stops() ? nullptr : list.pop();
  if (node != nullptr) return node;
  list.is_busy = false;
  --lanes_;
  announce();
  return nullptr;
}

/// For the caller and helpers. Null: there is nothing now.
Node* Board::pop_for(LaneRole role) {
  if (role == LaneRole::caller) {
    if (Node* const leaf = pop_back(leaves_)) return leaf;
    if (Node* const node = lists_[0].pop()) return node;
  }
  return pop_back(offered_);
}

/// Whether nothing is left and nobody is at work, or all are to stop.
bool Board::ends() {
  const bool is_empty = offered_.empty() && leaves_.empty() && lists_[0].nodes.empty();
  if (is_empty && idle_ == lanes_) is_over_ = true;
  return is_over_ || stops();
}

/// Returns after a change, or after a while. Another thread that wants the core gets it meanwhile.
void Board::wait_for_change(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen) {
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

/// Sleeps until a change. False if a helper has waited in vain.
bool Board::sleep(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen) {
  const bool is_helper = role == LaneRole::helper;
  const auto status = changed_.wait_for(lock, is_helper ? kPatience : kInterruptPeriod);
  if (status == std::cv_status::no_timeout || changes_ != seen) return true;
  if (is_helper) return has_eager_teams();
  lock.unlock();
  try {
    check_stop_signal(&signal_);
    check_for_interrupt();
  } catch (...) {
    fail(UINT64_MAX);
  }
  lock.lock();
  return true;
}

/// For tests: the caller does not at once take back what it offered. A lane that waits for a node
/// gets it, however busy the machine; those at work get a moment.
void Board::let_others_take() {
  const uint64_t start = now_ns();
  while (true) {
    const uint64_t patience = patience_with_others();
    if (now_ns() - start >= patience) return;
    std::this_thread::yield();
  }
}

/// How long the caller leaves to others what it has offered.
uint64_t Board::patience_with_others() {
  const std::lock_guard lock(mutex_);
  if (offered_.empty() || lanes_ == 1) return 0;
  return idle_ > 0 ? kEagerPatience : 5'000'000;
}

Node* Board::take(LaneRole role, size_t number) {
  if (role == LaneRole::worker) return take_or_leave(lists_[number]);
  if (has_eager_teams() && role == LaneRole::caller) let_others_take();
  // Workers take longer for their nodes than the caller to wake up.
  const bool spins = lists_.size() == 1;
  Node* node = nullptr;
  std::unique_lock lock(mutex_);
  if (role == LaneRole::caller) lists_[0].running = 0;
  ++idle_;
  announce();
  while (!ends()) {
    const uint64_t seen = changes_;
    node = pop_for(role);
    if (node != nullptr) break;
    if (spins) wait_for_change(role, lock, seen);
    if (changes_ == seen && !sleep(role, lock, seen)) break;
  }
  --idle_;
  announce();
  return node;
}

std::vector<Node*> Board::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<Node*> all = std::exchange(set_aside_, {});
  append(std::exchange(offered_, {}), all);
  append(std::exchange(leaves_, {}), all);
  for (List& list : lists_) {
    while (Node* const node = list.nodes.pop()) all.push_back(node);
  }
  return all;
}

void Board::fail(uint64_t sequence) noexcept {
  const std::lock_guard lock(mutex_);
  bool is_own = true;
  try {
    throw;
  } catch (const RunStopped&) {
    is_own = false;
  } catch (...) {
  }
  const bool is_first = failure_.error == nullptr || (is_own && !failure_.is_own);
  if (is_first || (is_own && sequence > failure_.sequence)) {
    failure_ = {std::current_exception(), sequence, is_own};
  }
  signal_.is_set.store(true, std::memory_order_relaxed);
  stop_locked();
}

void Board::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_locked();
}

void Board::stop_locked() noexcept {
  stops_.store(true, std::memory_order_relaxed);
  announce();
}

bool Board::reopen() {
  const std::lock_guard lock(mutex_);
  if (failure_.error != nullptr) return false;
  is_over_ = false;
  return stops_.exchange(false, std::memory_order_relaxed);
}

void Board::rethrow() {
  const std::lock_guard lock(mutex_);
  if (failure_.error != nullptr) std::rethrow_exception(std::exchange(failure_.error, nullptr));
}

uint64_t Board::horizon() const {
  uint64_t latest = 0;
  for (const List& list : lists_) {
    latest = std::max({latest, list.running, list.nodes.latest()});
  }
  return latest;
}

}  // namespace ebb::autograd
