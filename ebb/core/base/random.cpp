// ebb/core/base/random.cpp -- the generator's state.
#include "ebb/core/base/random.h"

#include <pthread.h>

#include <utility>

namespace ebb {

void Generator::set_seed(uint64_t seed) { set_state({seed, 0}); }

RandomState Generator::reserve(uint64_t counters) {
  const std::lock_guard lock(mutex_);
  const RandomState part = state_;
  state_.offset += counters;
  return part;
}

RandomState Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(const RandomState& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

Generator& process_generator() {
  static Generator generator(0);
  // A fork while another thread holds the lock would leave it locked for ever in the child.
  static const int fork_handlers =
      pthread_atfork([] { generator.mutex_.lock(); }, [] { generator.mutex_.unlock(); },
                     [] { generator.mutex_.unlock(); });
  static_cast<void>(fork_handlers);
  return generator;
}

namespace {
thread_local Generator* own_generator = nullptr;

// Made at load time: a fork while another thread is in the middle of making it would leave the
// child waiting for that thread for ever.
[[maybe_unused]] const Generator& made_early = process_generator();
}  // namespace

Generator& default_generator() {
  return own_generator == nullptr ? process_generator() : *own_generator;
}

GeneratorScope::GeneratorScope(Generator& generator)
    : saved_(std::exchange(own_generator, &generator)) {}
GeneratorScope::~GeneratorScope() { own_generator = saved_; }

}  // namespace ebb
