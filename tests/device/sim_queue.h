// tests/device/sim_queue.h -- a stream of the simulated device: a thread that works off a queue.
//
// Start reading at Queue::push(). An Event counts: record() promises a number, and the queue that
// reaches it says so.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>

namespace ebb::sim {

/// The slowness that all queues share.
struct Delay {
  std::mutex mutex;
  std::mt19937 numbers;
  int64_t most = 0;

  void wait() {
    int64_t microseconds = 0;
    {
      const std::lock_guard lock(mutex);
      if (most > 0)
        microseconds = static_cast<int64_t>(numbers() % static_cast<uint64_t>(most + 1));
    }
    if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }
};

/// Runs jobs in order on a thread of its own. Never destroyed: it lives as long as the process,
/// which ends only when all jobs are done. In a forked child it is empty and has a thread again.
class Queue {
 public:
  explicit Queue(Delay& delay) : delay_(delay) {
    std::thread([this] { work(); }).detach();
    [[maybe_unused]] static const bool is_registered = [] {
      std::atexit(finish_all);
      return pthread_atfork(nullptr, nullptr, begin_anew_all) == 0;
    }();
    const std::lock_guard lock(all_mutex);
    next_ = std::exchange(newest, this);
  }

  void push(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++pending_;
    changed_.notify_all();
  }
  void wait_until_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
  }
  bool is_empty() {
    const std::lock_guard lock(mutex_);
    return pending_ == 0;
  }
  void hold(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }

 private:
  static void finish_all() {
    for (Queue* queue = newest; queue != nullptr; queue = queue->next_) {
      queue->hold(false);
      queue->wait_until_empty();
    }
  }

  // Threads that a child does not have may have held the mutexes, or wait for a change.
  static void begin_anew_all() {
    new (&all_mutex) std::mutex();
    for (Queue* queue = newest; queue != nullptr; queue = queue->next_) queue->begin_anew();
  }
  void begin_anew() {
    new (&mutex_) std::mutex();
    new (&changed_) std::condition_variable();
    new (&delay_.mutex) std::mutex();
    jobs_.clear();
    pending_ = 0;
    is_held_ = false;
    std::thread([this] { work(); }).detach();
  }

  [[noreturn]] void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !jobs_.empty() && !is_held_; });
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      delay_.wait();
      job();
      const std::lock_guard lock(mutex_);
      --pending_;  // only now: a waiting thread may read what the job wrote
      changed_.notify_all();
    }
  }

  static inline std::mutex all_mutex;  // guards what follows
  static inline Queue* newest = nullptr;

  Delay& delay_;
  Queue* next_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int64_t pending_ = 0;
  bool is_held_ = false;
};

/// What an event and the queues that wait for it share.
class Event {
 public:
  uint64_t promise() {
    const std::lock_guard lock(mutex_);
    return ++promised_;
  }
  uint64_t promised() {
    const std::lock_guard lock(mutex_);
    return promised_;
  }
  void reach(uint64_t point) {
    const std::lock_guard lock(mutex_);
    if (point > reached_) reached_ = point;
    changed_.notify_all();
  }
  void wait(uint64_t point) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= point; });
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return reached_ == promised_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t promised_ = 0;
  uint64_t reached_ = 0;
};

}  // namespace ebb::sim
