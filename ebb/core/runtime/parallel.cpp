// ebb/core/runtime/parallel.cpp -- the pool behind parallel_for.
//
// One job runs at a time: its pieces are handed out by an atomic counter to the caller and to the
// sleeping workers it woke. Who runs a piece never changes what the piece does, so results do not
// depend on the number of threads. A caller that finds the pool busy runs its pieces itself.
//
// Waking a sleeping thread takes the system some 10 to 50 us, as long as a reduction of a million
// elements. So a worker that has finished looks for the next job for kSpin before it sleeps, and a
// caller waits for the last worker in the same way; but not if there are more threads than cores.
#include "ebb/core/runtime/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/runtime/float_mode.h"
#include "ebb/core/runtime/signal_shield.h"

namespace ebb {
namespace {

constexpr int64_t kMaxThreads = 1024;

constexpr std::chrono::microseconds kSpin(40);

thread_local bool is_inside_piece = false;

/// The cores that this process may run on.
int usable_cores() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(1, CPU_COUNT(&usable));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int initial_threads() {
  const int64_t count = std::atoll(std::string(flag_in_environment("num_threads")).c_str());
  return count >= 1 && count <= kMaxThreads ? static_cast<int>(count) : usable_cores();
}

const FlagEntry entry({
    .name = "num_threads",
    .type = FlagType::integer,
    .fallback = std::to_string(usable_cores()),
    .doc = "How many threads one op may use; results do not depend on it.",
    .get = [] { return std::to_string(num_threads()); },
    .set = [](std::string_view value) { set_num_threads(std::stoi(std::string(value))); },
});

/// Leaves the core's resources to its other hardware thread for a moment.
void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks again and again, for at most kSpin, whether `is_done()`. Another thread that wants the
/// core gets it meanwhile.
template <class Done>
void spin_until(Done is_done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int look = 0; look < 16; ++look) {
      if (is_done()) return;
      pause_core();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < deadline);
}

std::atomic<int> wanted_threads{0};  // 0: not decided yet

/// One parallel_for in progress.
struct Job {
  FunctionRef<void(int64_t)> piece;
  int64_t pieces;
  FloatMode float_mode = FloatMode::current();  // the caller's, for all pieces
  alignas(64) std::atomic<int64_t> next{0};     // apart from what all threads read
  std::mutex mutex;                             // guards what follows
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
    const bool spins = helpers < cores_;
    uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      job_ = &job;
      openings_ = std::min(helpers, static_cast<int>(workers_.size()));
      number = ++generation_;
    }
    may_spin_.store(spins, std::memory_order_relaxed);
    posted_.store(number, std::memory_order_release);  // not before the mutex is free
    wake_.notify_all();
    job.run();
    {
      const std::lock_guard lock(mutex_);
      openings_ = 0;  // workers that have not woken yet need not join any more
      job_ = nullptr;
    }
    if (spins) spin_until([this] { return active_.load(std::memory_order_acquire) == 0; });
    if (active_.load(std::memory_order_acquire) == 0) return true;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

  /// Ends the workers, unless a job is running, and lets nobody start another one: what a daemon
  /// thread does while the process ends, it does alone.
  void stop() {
    if (!busy_.try_lock()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
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
    refuse_signals();
    uint64_t seen = 0;
    while (true) {
      if (may_spin_.load(std::memory_order_relaxed)) {
        spin_until([&] { return posted_.load(std::memory_order_acquire) != seen; });
      }
      std::unique_lock lock(mutex_);
      const bool is_late = openings_ == 0 && generation_ != seen;
      if (is_late && !stopping_) {  // others have done that job: look out for the next one
        seen = generation_;
        continue;
      }
      wake_.wait(lock, [&] { return stopping_ || (openings_ > 0 && generation_ != seen); });
      if (stopping_) return;
      seen = generation_;
      --openings_;
      ++active_;
      Job* const job = job_;
      lock.unlock();
      job->float_mode.install();
      job->run();
      lock.lock();
      if (--active_ == 0) idle_.notify_one();
    }
  }

  const int cores_ = usable_cores();
  std::mutex busy_;  // held by the caller whose job runs
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  int openings_ = 0;
  uint64_t generation_ = 0;  // number of the latest job
  bool stopping_ = false;
  std::atomic<int> active_{0};        // workers inside a job; changes under the mutex only
  std::atomic<uint64_t> posted_{0};   // generation_, for those that look without the mutex
  std::atomic<bool> may_spin_{true};  // not if there were more threads than cores
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

// The object stays: a daemon thread may be about to use it.
void stop_pool() {
  if (Pool* const pool = current_pool.load()) pool->stop();
}

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

bool is_in_parallel_piece() { return is_inside_piece; }

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
