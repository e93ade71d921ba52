// tests/core/runtime/signal_shield_test.cpp -- signals wait for the end of a shield, but for those
// that the thread itself raises, and threads of the pool take none.
#include "ebb/core/runtime/signal_shield.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "ebb/core/runtime/parallel.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

/// Installs a handler for the length of a test.
class Handler {
 public:
  Handler(int signal, void (*function)(int)) : signal_(signal) {
    struct sigaction action = {};
    action.sa_handler = function;
    sigaction(signal, &action, &before_);
  }
  ~Handler() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ = {};
};

volatile std::sig_atomic_t count = 0;
void note(int) { count = count + 1; }

/// The signals noted. ThreadSanitizer keeps a signal until the thread calls into its runtime.
int noted() {
  usleep(1);
  return count;
}

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(SignalShield, HoldsASignalBackUntilItsEnd) {
  const Handler handler(SIGUSR1, note);
  count = 0;
  {
    const SignalShield shield;
    raise(SIGUSR1);
    EXPECT_EQ(noted(), 0);
  }
  EXPECT_EQ(noted(), 1);
}

TEST(SignalShield, InsideOfAnotherEndsNothing) {
  const Handler handler(SIGUSR1, note);
  count = 0;
  const SignalShield outer;
  { const SignalShield inner; }
  raise(SIGUSR1);
  EXPECT_EQ(noted(), 0);
}

TEST(SignalShield, LeavesBlockedWhatWasBlocked) {
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  { const SignalShield shield; }
  EXPECT_TRUE(is_blocked(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(SignalShield, LetsThroughWhatTheThreadsOwnInstructionsRaise) {
  const SignalShield shield;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    EXPECT_FALSE(is_blocked(signal)) << signal;
  }
}

TEST(SignalShield, OfNoKindHoldsNothingBack) {
  const SignalShield shield(SignalShield::Kind::none);
  EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST(ParallelFor, LeavesSignalsToTheThreadsOfTheProgram) {
  const int before = num_threads();
  set_num_threads(3);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> others = 0, blocked = 0;
  // Pieces wait until a worker has come, so that one does.
  parallel_for(3, 1, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() != caller) {
      blocked += is_blocked(SIGINT) && is_blocked(SIGALRM) && !is_blocked(SIGSEGV);
      ++others;
    }
    while (others == 0) std::this_thread::yield();
  });
  set_num_threads(before);
  EXPECT_EQ(blocked, others);
}

}  // namespace
}  // namespace ebb
