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

/// Writes the four words of each of `counters` counters, from number `first` after `state` on.
inline void philox_words(const RandomState& state, uint64_t first, size_t counters,
                         uint32_t* words) {
  size_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint32_t, decltype(d)> d32;
  const size_t lanes = hn::Lanes(d);
  const auto low_half = hn::Set(d, uint64_t{0xffffffffu});
  const auto product = [&](auto lhs, uint32_t rhs) HWY_ATTR {
    return hn::MulEven(hn::BitCast(d32, lhs), hn::Set(d32, rhs));
  };
  for (; done + lanes <= counters; done += lanes) {
    const auto position = hn::Iota(d, state.offset + first + done);
    auto word0 = hn::And(position, low_half), word1 = hn::ShiftRight<32>(position);
    auto word2 = hn::Zero(d), word3 = hn::Zero(d);
    auto key0 = static_cast<uint32_t>(state.seed), key1 = static_cast<uint32_t>(state.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto left = product(word0, 0xD2511F53u), right = product(word2, 0xCD9E8D57u);
      word0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(right), word1), hn::Set(d, uint64_t{key0}));
      word1 = hn::And(right, low_half);
      word2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(left), word3), hn::Set(d, uint64_t{key1}));
      word3 = hn::And(left, low_half);
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved2(hn::Or(word0, hn::ShiftLeft<32>(word1)),
                          hn::Or(word2, hn::ShiftLeft<32>(word3)), d,
                          reinterpret_cast<uint64_t*>(words + 4 * done));
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
