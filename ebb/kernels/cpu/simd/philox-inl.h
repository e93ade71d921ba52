// ebb/kernels/cpu/simd/philox-inl.h -- many words of the random sequence at once.
//
// The same numbers as random_words() of ebb/core/base/random.h: a 64-bit lane holds one 32-bit word
// of its counter, so that a product of two words fits. Included once per target (see
// each_target.h); a target without vectors takes one counter after the other.
#if defined(EBB_KERNELS_CPU_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_PHILOX_INL_H
#undef EBB_KERNELS_CPU_PHILOX_INL_H
#else
#define EBB_KERNELS_CPU_PHILOX_INL_H
#endif

#include <algorithm>

#include "ebb/core/base/random.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The words of a vector of counters. Only the lower half of a lane counts: products do not read
/// the upper one.
template <class D>
struct PhiloxLanes {
  using V = hn::Vec<D>;
  V word0, word1, word2, word3;

  HWY_INLINE PhiloxLanes(D d, V position)
      : word0(position),
        word1(hn::ShiftRight<32>(position)),
        word2(hn::Zero(d)),
        word3(hn::Zero(d)) {}

  HWY_INLINE void mix(D d, uint32_t key0, uint32_t key1) {
    const hn::Repartition<uint32_t, D> d32;
    const V left = hn::MulEven(hn::BitCast(d32, word0), hn::Set(d32, 0xD2511F53u));
    const V right = hn::MulEven(hn::BitCast(d32, word2), hn::Set(d32, 0xCD9E8D57u));
    word0 = hn::Xor(hn::ShiftRight<32>(right), hn::Xor(word1, hn::Set(d, uint64_t{key0})));
    word1 = right;
    word2 = hn::Xor(hn::ShiftRight<32>(left), hn::Xor(word3, hn::Set(d, uint64_t{key1})));
    word3 = left;
  }

  HWY_INLINE void store(D d, uint32_t* words) const {
    const V low_half = hn::Set(d, uint64_t{0xffffffffu});
    hn::StoreInterleaved2(hn::Or(hn::And(word0, low_half), hn::ShiftLeft<32>(word1)),
                          hn::Or(hn::And(word2, low_half), hn::ShiftLeft<32>(word3)), d,
                          reinterpret_cast<uint64_t*>(words));
  }
};

/// Writes the words of as many counters as two vectors have lanes: each of the ten rounds waits for
/// the products of the one before, so that a second vector costs little time.
template <class D>
HWY_INLINE void philox_vectors(D d, const RandomState& state, hn::Vec<D> position,
                               uint32_t* words) {
  const size_t lanes = hn::Lanes(d);
  PhiloxLanes<D> first(d, position), second(d, hn::Add(position, hn::Set(d, lanes)));
  auto key0 = static_cast<uint32_t>(state.seed), key1 = static_cast<uint32_t>(state.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    first.mix(d, key0, key1);
    second.mix(d, key0, key1);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  first.store(d, words);
  second.store(d, words + 4 * lanes);
}

/// Writes the four words of each of `counters` counters, from number `first` after `state` on.
inline void philox_words(const RandomState& state, uint64_t first, size_t counters,
                         uint32_t* words) {
  size_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint64_t> d;
  const size_t step = 2 * hn::Lanes(d);
  auto position = hn::Iota(d, state.offset + first);
  for (; done + step <= counters; done += step) {
    philox_vectors(d, state, position, words + 4 * done);
    position = hn::Add(position, hn::Set(d, step));
  }
#endif
  for (; done < counters; ++done) {
    const auto four = random_words(state, first + done);
    std::copy_n(four.data(), 4, words + 4 * done);
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
