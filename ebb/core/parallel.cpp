// ebb/core/parallel.cpp -- the pool behind parallel_for.
//
// One job runs at a time: its pieces are handed out by an atomic counter to the caller and to the
// sleeping workers it woke. Who runs a piece never changes what the piece does, so results do not
// depend on the number of threads. A caller that finds the pool busy runs its pieces itself.
#include "ebb/core/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "ebb/core/error.h"

namespace ebb {
namespace {

constexpr int64_t kMaxThreads = 1024;

thread_local bool is_inside_piece = false;

int initial_threads() {
  if (const char* const text = std::getenv("EBB_NUM_THREADS"); text != nullptr) {
    const int64_t count = std::atoll(text);
    if (count >= 1 && count <= kMaxThreads) return static_cast<int>(count);
  }
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(1, CPU_COUNT(&usable));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int> wanted_threads{0};  // 0: not decided yet

/// One parallel_for in progress.
struct Job {
  FunctionRef<void(int64_t)> piece;
  int64_t pieces;
  std::atomic<int64_t> next{0};
  std::mutex mutex;  // guards what follows
  int64_t failed_piece = -1;
  std::exception_ptr error;

  void run() {
    is_inside_piece = true;
    for (int64_t index = next++; index < pieces; index = next++) {
      try {
        piece(index);
      } catch (...) {
        note_failure(index);
      }
    }
    is_inside_piece = false;
  }
  void note_failure(int64_t index) {
    const std::lock_guard lock(mutex);
    if (failed_piece >= 0 && failed_piece < index) return;
    failed_piece = index;
    error = std::current_exception();
  }
};

class Pool {
 public:
  /// Runs the job on this thread and up to `helpers` workers. False if the pool is busy.
  bool run(Job& job, int helpers) {
    const std::unique_lock busy(busy_, std::try_to_lock);
    if (!busy.owns_lock()) return false;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      job_ = &job;
      openings_ = std::min(helpers, static_cast<int>(workers_.size()));
      ++generation_;
    }
    wake_.notify_all();
    job.run();
    std::unique_lock lock(mutex_);
    openings_ = 0;  // workers that have not woken yet need not join any more
    job_ = nullptr;
    idle_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

 private:
  void grow(int helpers) {
    while (static_cast<int>(workers_.size()) < helpers) {
      try {
        workers_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        return;  // the system gives no more threads: go on with those there are
      }
    }
  }

  void work() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || (openings_ > 0 && generation_ != seen); });
      if (stopping_) return;
      seen = generation_;
      --openings_;
      ++active_;
      Job* const job = job_;
      lock.unlock();
      job->run();
      lock.lock();
      if (--active_ == 0) idle_.notify_one();
    }
  }

  std::mutex busy_;  // held by the caller whose job runs
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  int openings_ = 0;
  int active_ = 0;
  uint64_t generation_ = 0;
  bool stopping_ = false;
};

std::atomic<Pool*> current_pool{nullptr};
std::mutex pool_mutex;

// The child of a fork has none of the workers and perhaps locked mutexes: it leaks the old pool
// object and makes a new one when it first needs it. Registered at load time: a fork before that
// could find the mutex locked.
[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { pool_mutex.lock(); }, [] { pool_mutex.unlock(); },
                   [] {
                     pool_mutex.unlock();
                     current_pool.store(nullptr);
                     is_inside_piece = false;
                   });

void stop_pool() { delete current_pool.exchange(nullptr); }

Pool& pool() {
  Pool* existing = current_pool.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  const std::lock_guard lock(pool_mutex);
  existing = current_pool.load(std::memory_order_relaxed);
  if (existing == nullptr) {
    static const bool registered = std::atexit(stop_pool) == 0;
    static_cast<void>(registered);
    existing = new Pool();
    current_pool.store(existing, std::memory_order_release);
  }
  return *existing;
}

}  // namespace

int num_threads() {
  int count = wanted_threads.load(std::memory_order_relaxed);
  if (count == 0) {
    count = initial_threads();
    wanted_threads.store(count, std::memory_order_relaxed);
  }
  return count;
}

void set_num_threads(int64_t count) {
  if (count < 1 || count > kMaxThreads) {
    throw ValueError(
        str("set_num_threads: needs from 1 to ", kMaxThreads, " threads, got ", count));
  }
  wanted_threads.store(static_cast<int>(count), std::memory_order_relaxed);
}

void detail::run_pieces(int64_t pieces, FunctionRef<void(int64_t)> piece) {
  const auto helpers = static_cast<int>(std::min<int64_t>(num_threads(), pieces)) - 1;
  if (helpers == 0 || is_inside_piece) {
    for (int64_t index = 0; index < pieces; ++index) piece(index);
    return;
  }
  Job job{.piece = piece, .pieces = pieces, .mutex = {}, .error = {}};
  if (!pool().run(job, helpers)) job.run();
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

}  // namespace ebb
