// ebb/autograd/engine/device_worker.cpp -- starting, feeding and ending the workers of devices.
#include "ebb/autograd/engine/device_worker.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/core/runtime/signal_shield.h"

namespace ebb::autograd {
namespace {

// So long the end of the process waits for a worker to finish its job.
constexpr std::chrono::milliseconds kLastWait(100);

class Worker {
 public:
  /// Throws std::system_error if there is no thread to be had.
  Worker() : thread_([this] { run(); }) {}

  bool post(DeviceJob& job) {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return false;
    jobs_.push_back(&job);
    changed_.notify_all();
    return true;
  }

  /// Ends the thread, unless it stays busy.
  void stop() {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
    const bool has_ended = changed_.wait_for(lock, kLastWait, [this] { return has_ended_; });
    lock.unlock();
    if (has_ended) thread_.join();
  }

 private:
  void run() {
    refuse_signals();
    // Runs inside a job stay on this thread: were they to wait for other workers, two of these
    // could wait for each other.
    set_parallel_backward(false);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) break;
      DeviceJob& job = *jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      job.float_mode.install();
      job.work();
      lock.lock();
    }
    has_ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<DeviceJob*> jobs_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::thread thread_;  // last: it uses the others
};

/// All workers of a process. Never freed: daemon threads may come after the end of main().
struct Workers {
  std::mutex mutex;  // held while a worker is started
  std::atomic<Worker*> slots[kDeviceTypeCount][kMaxDevices] = {};
  bool is_stopping = false;  // guarded by the mutex

  /// Null if there is none and none can be had.
  Worker* worker_for(Device device) {
    std::atomic<Worker*>& slot = slots[static_cast<int>(device.type)][device.index];
    Worker* found = slot.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    const std::lock_guard lock(mutex);
    found = slot.load(std::memory_order_relaxed);
    if (found != nullptr || is_stopping) return found;
    try {
      found = new Worker();
    } catch (const std::system_error&) {
      return nullptr;
    }
    slot.store(found, std::memory_order_release);
    return found;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    for (auto& of_type : slots) {
      for (std::atomic<Worker*>& slot : of_type) {
        if (Worker* const worker = slot.load(std::memory_order_acquire)) worker->stop();
      }
    }
  }
};

constinit std::mutex workers_mutex;
constinit std::atomic<Workers*> current_workers{nullptr};

// The child of a fork has none of the threads, and perhaps locked mutexes: it leaks the workers.
// Registered at load time: a fork before that could find the mutex locked.
[[maybe_unused]] const int worker_fork_handlers =
    pthread_atfork([] { workers_mutex.lock(); }, [] { workers_mutex.unlock(); },
                   [] {
                     workers_mutex.unlock();
                     current_workers.store(nullptr);
                   });

void stop_workers() {
  if (Workers* const workers = current_workers.load()) workers->stop();
}

Workers& workers() {
  Workers* existing = current_workers.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  const std::lock_guard lock(workers_mutex);
  existing = current_workers.load(std::memory_order_relaxed);
  if (existing == nullptr) {
    static const bool is_registered = std::atexit(stop_workers) == 0;
    static_cast<void>(is_registered);
    existing = new Workers();
    current_workers.store(existing, std::memory_order_release);
  }
  return *existing;
}

}  // namespace

bool post_to_worker(Device device, DeviceJob& job) {
  Worker* const worker = workers().worker_for(device);
  return worker != nullptr && worker->post(job);
}

}  // namespace ebb::autograd
