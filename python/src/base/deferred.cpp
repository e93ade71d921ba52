// python/src/base/deferred.cpp -- see deferred.h.
#include "python/src/base/deferred.h"

#include <Python.h>

#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "ebb/core/base/thread_state.h"

namespace ebb::python {
namespace {

using Deferred = std::pair<void (*)(void*), void*>;

struct Queue {
  std::mutex mutex;  // held for a push or a swap only
  std::vector<Deferred> waiting;
};
Queue& queue() {
  static auto* const instance = new Queue();  // never destroyed: threads may outlive statics
  return *instance;
}
std::atomic<bool> has_waiting{false};

int run_pending(void*) {
  run_deferred();
  return 0;
}

}  // namespace

bool interpreter_is_alive() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

void call_with_gil(void (*action)(void*), void* subject) noexcept {
  if (!interpreter_is_alive()) return;  // too late: the memory goes with the process
  if (PyGILState_Check() != 0) return action(subject);
  try {
    const std::lock_guard lock(queue().mutex);
    queue().waiting.emplace_back(action, subject);
  } catch (const std::bad_alloc&) {
    return;  // a leak is better than a deadlock or an end
  }
  // Fails only if many calls are pending already; then run_deferred() comes from elsewhere.
  if (!has_waiting.exchange(true)) Py_AddPendingCall(run_pending, nullptr);
}

void run_deferred() noexcept {
  if (!has_waiting.load(std::memory_order_relaxed)) return;
  std::vector<Deferred> taken;
  {
    const std::lock_guard lock(queue().mutex);
    has_waiting = false;
    std::swap(taken, queue().waiting);
  }
  // They come in the middle of anything: a finalizer that sets a mode sets nobody else's.
  const ModeScope modes(0, 0);
  for (const auto& [action, subject] : taken) action(subject);
}

}  // namespace ebb::python
