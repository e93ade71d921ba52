// ebb/core/runtime/signal_shield.cpp -- the masks of blocked signals.
//
// The shield asks the kernel itself. The C library keeps two signals of its own out of every mask,
// by which setuid() and pthread_cancel() reach all threads, and these have handlers, too. A thread
// that refuses signals for good takes them: setuid() waits for every thread.
#include "ebb/core/runtime/signal_shield.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace ebb {
namespace {

constexpr int kRaisedByInstructions[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// The kernel's set: signal n is bit n - 1.
constexpr uint64_t all_others() {
  uint64_t set = ~uint64_t{0};
  for (const int signal : kRaisedByInstructions) set &= ~(uint64_t{1} << (signal - 1));
  return set;
}

void change_mask(int how, const uint64_t* set, uint64_t* before) {
  syscall(SYS_rt_sigprocmask, how, set, before, sizeof *set);
}

}  // namespace

SignalShield::SignalShield(Kind kind) : is_up_(kind == Kind::all) {
  constexpr uint64_t set = all_others();
  if (is_up_) change_mask(SIG_BLOCK, &set, &before_);
}

SignalShield::~SignalShield() {
  if (is_up_) change_mask(SIG_SETMASK, &before_, nullptr);
}

void refuse_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal : kRaisedByInstructions) sigdelset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace ebb
