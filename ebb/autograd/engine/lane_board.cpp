// ebb/autograd/engine/lane_board.cpp -- passing nodes between the threads of a run with devices.
#include "ebb/autograd/engine/lane_board.h"

#include <algorithm>
#include <chrono>

namespace ebb::autograd {
namespace {

constexpr std::chrono::milliseconds kInterruptPeriod(50);

bool runs_later(const Node* a, const Node* b) { return a->sequence() < b->sequence(); }

}  // namespace

LaneBoard::LaneBoard(size_t lanes) : lanes_(lanes) { signal_.outer = current_stop_signal(); }

bool LaneBoard::push(size_t index, Node* node) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lanes_[index];
  if (node->edge_count() == 0) {
    lane.leaves.push_back(node);
  } else {
    lane.heap.push_back(node);
    std::push_heap(lane.heap.begin(), lane.heap.end(), runs_later);
  }
  if (index == 0) {
    changed_.notify_all();
    return false;
  }
  if (lane.is_busy) return false;
  lane.is_busy = true;
  ++busy_;
  return true;
}

Node* LaneBoard::pop(Lane& lane) {
  Node* node = nullptr;
  if (!lane.leaves.empty()) {
    node = lane.leaves.back();
    lane.leaves.pop_back();
  } else if (!lane.heap.empty()) {
    std::pop_heap(lane.heap.begin(), lane.heap.end(), runs_later);
    node = lane.heap.back();
    lane.heap.pop_back();
  }
  lane.running = node == nullptr ? 0 : node->sequence();
  return node;
}

Node* LaneBoard::take(size_t index) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lanes_[index];
  lane.running = 0;
  Node* const node = stops_ ? nullptr : pop(lane);
  if (node != nullptr) return node;
  lane.is_busy = false;
  --busy_;
  changed_.notify_all();
  return nullptr;
}

Node* LaneBoard::take_or_wait() {
  std::unique_lock lock(mutex_);
  lanes_[0].running = 0;
  while (!stops_) {
    Node* const node = pop(lanes_[0]);
    if (node != nullptr || busy_ == 0) return node;
    if (changed_.wait_for(lock, kInterruptPeriod) == std::cv_status::no_timeout) continue;
    lock.unlock();
    check_stop_signal(&signal_);
    check_for_interrupt();
    lock.lock();
  }
  return nullptr;
}

void LaneBoard::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
}

bool LaneBoard::is_idle() {
  const std::lock_guard lock(mutex_);
  return busy_ == 0;
}

void LaneBoard::move_all(Lane& from, std::vector<Node*>& to) {
  to.insert(to.end(), from.heap.begin(), from.heap.end());
  to.insert(to.end(), from.leaves.begin(), from.leaves.end());
  from.heap.clear();
  from.leaves.clear();
}

std::vector<Node*> LaneBoard::take_all_of_caller() {
  const std::lock_guard lock(mutex_);
  std::vector<Node*> nodes;
  move_all(lanes_[0], nodes);
  return nodes;
}

std::vector<Node*> LaneBoard::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<Node*> nodes;
  for (Lane& lane : lanes_) move_all(lane, nodes);
  return nodes;
}

void LaneBoard::fail(uint64_t sequence) noexcept {
  const std::lock_guard lock(mutex_);
  error_.note(sequence);
  signal_.is_set.store(true, std::memory_order_relaxed);
  stop_locked();
}

void LaneBoard::stop_locked() noexcept {
  stops_ = true;
  changed_.notify_all();
}

bool LaneBoard::clear_stop() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stops_, false);
}

bool LaneBoard::has_failed() {
  const std::lock_guard lock(mutex_);
  return error_.any();
}

void LaneBoard::rethrow() {
  const std::lock_guard lock(mutex_);
  error_.rethrow();
}

uint64_t LaneBoard::horizon() const {
  uint64_t latest = 0;
  for (const Lane& lane : lanes_) {
    latest = std::max(latest, lane.running);
    if (!lane.heap.empty()) latest = std::max(latest, lane.heap.front()->sequence());
  }
  return latest;
}

}  // namespace ebb::autograd
