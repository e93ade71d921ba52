// ebb/autograd/hooks/active_run.cpp -- which run a thread is part of, and what is called at its
// end.
#include "ebb/autograd/hooks/active_run.h"

#include <utility>

#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

thread_local constinit ActiveRun* innermost_run __attribute__((tls_model("initial-exec"))) =
    nullptr;

}  // namespace

uint64_t ActiveRun::id() {
  // Most runs are never asked, and threads that ask at the same time must agree.
  static std::atomic<uint64_t> next{0};
  uint64_t known = id_.load(std::memory_order_relaxed);
  if (known != UINT64_MAX) return known;
  const uint64_t made = next.fetch_add(1, std::memory_order_relaxed);
  return id_.compare_exchange_strong(known, made, std::memory_order_relaxed) ? made : known;
}

void ActiveRun::queue_callback(std::function<void()> callback) {
  Notes& notes = ensure_notes();
  const std::lock_guard lock(notes.mutex);
  notes.callbacks.push_back(std::move(callback));
}

ActiveRun::Notes& ActiveRun::ensure_notes() {
  Notes* existing = notes_.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  auto* const made = new Notes();
  if (notes_.compare_exchange_strong(existing, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *existing;
}

void ActiveRun::drop_notes() noexcept { delete notes_.load(std::memory_order_relaxed); }

void ActiveRun::call_queued() {
  Notes& notes = ensure_notes();
  for (size_t next = 0;; ++next) {
    std::function<void()> callback;
    {
      const std::lock_guard lock(notes.mutex);
      if (next == notes.callbacks.size()) return;
      callback = std::move(notes.callbacks[next]);
    }
    callback();
  }
}

void ActiveRun::send(const Edge& edge, Tensor grad) {
  Notes& notes = ensure_notes();
  const std::lock_guard lock(notes.mutex);
  notes.sent.push_back({edge, std::move(grad)});
}

std::vector<SentGradient> ActiveRun::take_sent() {
  Notes& notes = ensure_notes();
  const std::lock_guard lock(notes.mutex);
  return std::exchange(notes.sent, {});
}

ActiveRun* active_run() { return innermost_run; }

ActiveRunScope::ActiveRunScope(ActiveRun* run) : outer_(std::exchange(innermost_run, run)) {}
ActiveRunScope::~ActiveRunScope() { innermost_run = outer_; }

void queue_callback(std::function<void()> callback) {
  ActiveRun* const run = active_run();
  if (run == nullptr) {
    throw AutogradError(
        "queue_callback: needs a running backward() or grad(), got a call outside of one"
        "\nhint: call it from a hook or from a custom function's backward");
  }
  run->queue_callback(std::move(callback));
}

}  // namespace ebb::autograd
