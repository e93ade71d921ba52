// ebb/core/base/random.h -- counter-based random numbers: Philox 4x32-10 and the generator's state.
//
// A number depends on (seed, position) only, so a tensor can be filled in any order by any number
// of threads on any device. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "ebb/core/base/export.h"

namespace ebb {

/// Four 32-bit random words for one counter under one key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                         std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Where one random op starts in the sequence: everything that a kernel needs.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;  // in counters, that is, in groups of four words
};

/// The four words at `index` counters after the start of `state`.
constexpr std::array<uint32_t, 4> random_words(const RandomState& state, uint64_t index) {
  const uint64_t position = state.offset + index;
  return philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0},
                {static_cast<uint32_t>(state.seed), static_cast<uint32_t>(state.seed >> 32)});
}

class Generator;
/// The one generator that all threads share.
EBB_API Generator& process_generator();
/// The generator that random ops use unless given another: that of the innermost GeneratorScope of
/// this thread, else one of the process. Its seed is 0 until set: runs repeat.
EBB_API Generator& default_generator();

/// Hands out disjoint parts of one random sequence. Safe to use from several threads.
class EBB_API Generator {
 public:
  explicit Generator(uint64_t seed) : state_{seed, 0} {}

  void set_seed(uint64_t seed);
  /// The next part, of `counters` groups of four words.
  RandomState reserve(uint64_t counters);
  RandomState state() const;
  void set_state(const RandomState& state);

 private:
  friend Generator& process_generator();  // keeps the lock whole across a fork
  mutable std::mutex mutex_;
  RandomState state_;
};

/// This thread draws from `generator`, which must outlive the scope, instead of the process's.
class EBB_API GeneratorScope {
 public:
  explicit GeneratorScope(Generator& generator);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generator* saved_;
};

}  // namespace ebb
