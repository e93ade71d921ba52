// ebb/autograd/engine/nesting.cpp -- counting levels, and helper threads for the deep ones.
#include "ebb/autograd/engine/nesting.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/signal_shield.h"

namespace ebb::autograd {
namespace {

struct Depth {
  uint32_t on_thread = 0;
  uint32_t on_threads_below = 0;
};
thread_local Depth depth;

/// What caller and helper share.
struct Handover {
  std::mutex mutex;
  std::condition_variable is_done_changed;
  bool is_done = false;
  std::exception_ptr error;
  StopSignal signal;
};

void work(Handover& handover, FunctionRef<void()> body) {
  const StopScope stop(&handover.signal);
  try {
    body();
  } catch (...) {
    handover.error = std::current_exception();
  }
  const std::lock_guard lock(handover.mutex);
  handover.is_done = true;
  handover.is_done_changed.notify_one();
}

/// Stops the helper if a signal comes. Returns what the check for signals threw.
std::exception_ptr wait(Handover& handover) {
  std::exception_ptr interrupt;
  std::unique_lock lock(handover.mutex);
  while (!handover.is_done_changed.wait_for(lock, kInterruptPeriod,
                                            [&] { return handover.is_done; })) {
    if (interrupt != nullptr) continue;
    lock.unlock();
    try {
      check_for_interrupt_here();
    } catch (...) {
      interrupt = std::current_exception();
      handover.signal.is_set.store(true, std::memory_order_relaxed);
    }
    lock.lock();
  }
  return interrupt;
}

std::thread start_helper(Handover& handover, FunctionRef<void()> body) {
  const uint32_t below = depth.on_threads_below + depth.on_thread;
  try {
    return std::thread([&handover, body, below, modes = ThreadModes::current(),
                        is_parallel = is_parallel_backward()] {
      refuse_signals();
      depth.on_threads_below = below;
      set_parallel_backward(is_parallel);
      modes.install();
      work(handover, body);
    });
  } catch (const std::system_error& error) {
    throw AutogradError(str("backward: needs a thread to nest ", below,
                            " runs inside each other, got none: ", error.what()));
  }
}

}  // namespace

uint32_t enter_nested_run() { return ++depth.on_thread; }
void leave_nested_run() { --depth.on_thread; }

void run_on_helper_thread(FunctionRef<void()> body) {
  Handover handover;
  handover.signal.outer = current_stop_signal();
  std::thread helper = start_helper(handover, body);
  const std::exception_ptr interrupt = wait(handover);
  helper.join();
  if (interrupt != nullptr) std::rethrow_exception(interrupt);
  if (handover.error != nullptr) std::rethrow_exception(handover.error);
}

}  // namespace ebb::autograd
