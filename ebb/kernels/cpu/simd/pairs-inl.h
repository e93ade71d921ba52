// ebb/kernels/cpu/simd/pairs-inl.h -- loops over bfloat16 for ops that take less time than memory.
//
// A vector of bfloat16 is taken for one of 32-bit numbers: those at odd places are float32 numbers
// once the lower half is cleared, those at even places once it is shifted up. That takes half of
// the instructions of loading one vector of lanes after the other in order, and so does the way
// back. An element's result is the same in either loop. Included once per target (see
// each_target.h).
#if defined(EBB_KERNELS_CPU_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_PAIRS_INL_H
#undef EBB_KERNELS_CPU_PAIRS_INL_H
#else
#define EBB_KERNELS_CPU_PAIRS_INL_H
#endif

#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PairLanes = hn::ScalableTag<float>;
using PairVector = hn::Vec<PairLanes>;
using PairBits = hn::Vec<hn::RebindToUnsigned<PairLanes>>;

/// The elements at even places and those at odd ones.
struct Pair {
  PairVector even, odd;
};

HWY_INLINE PairBits upper_halves(PairBits bits) {
  return hn::And(bits, hn::Set(hn::RebindToUnsigned<PairLanes>(), 0xffff0000u));
}

/// Reads an operand two vectors at a time.
struct PairStream {
  const BFloat16* data;
  HWY_INLINE Pair load(size_t i) const {
    const PairLanes d;
    const hn::Repartition<uint16_t, PairLanes> halves;
    const hn::RebindToUnsigned<PairLanes> words;
    const auto given = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(data + i));
    const PairBits bits = hn::BitCast(words, given);
    return {hn::BitCast(d, hn::ShiftLeft<16>(bits)), hn::BitCast(d, upper_halves(bits))};
  }
};

/// Reads one number again and again.
struct PairRepeat {
  PairVector value;
  explicit HWY_INLINE PairRepeat(float number) : value(hn::Set(PairLanes(), number)) {}
  HWY_INLINE Pair load(size_t) const { return {value, value}; }
};

/// The bits of a number whose upper half is it rounded, as narrowed() rounds.
HWY_INLINE PairBits rounded_bits(PairVector v) {
  const hn::RebindToUnsigned<PairLanes> du;
  const PairBits bits = hn::BitCast(du, v);
  const PairBits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const PairBits rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  const PairBits quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

HWY_INLINE void store_pair(PairVector even, PairVector odd, BFloat16* to) {
  const hn::Repartition<uint16_t, PairLanes> halves;
  const PairBits bits =
      hn::Or(hn::ShiftRight<16>(rounded_bits(even)), upper_halves(rounded_bits(odd)));
  hn::StoreU(hn::BitCast(halves, bits), halves, reinterpret_cast<uint16_t*>(to));
}

/// Rounds float32 numbers, two vectors at a time, and returns how many.
HWY_INLINE size_t narrow_pairs(const float* from, BFloat16* to, size_t count) {
  const PairLanes d;
  const hn::Repartition<uint16_t, PairLanes> halves;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = hn::BitCast(halves, rounded_bits(hn::LoadU(d, from + i)));
    const auto second = hn::BitCast(halves, rounded_bits(hn::LoadU(d, from + i + lanes)));
    hn::StoreU(hn::ConcatOdd(halves, second, first), halves, reinterpret_cast<uint16_t*>(to + i));
  }
  return i;
}

template <class Op, class Lhs, class Rhs>
HWY_INLINE size_t binary_pairs(Op op, Lhs lhs, Rhs rhs, BFloat16* out, size_t count) {
  const PairLanes d;
  const size_t step = 2 * hn::Lanes(d);
  size_t i = 0;
  for (; i + step <= count; i += step) {
    const Pair left = lhs.load(i), right = rhs.load(i);
    store_pair(op(d, left.even, right.even), op(d, left.odd, right.odd), out + i);
  }
  return i;
}

/// RowFunction of an op of two inputs.
template <class Op>
void binary_pairs_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const BFloat16*>(in[0]);
  const auto* rhs = static_cast<const BFloat16*>(in[1]);
  auto* const to = static_cast<BFloat16*>(out);
  const auto size = static_cast<size_t>(count);
  if (size == 0) return;
  if (splat == 0) {
    const size_t done = binary_pairs(Op{}, PairStream{lhs}, PairStream{rhs}, to, size);
    return binary_row(Op{}, lhs + done, rhs + done, to + done, size - done, splat);
  }
  if (splat == 2) {
    const PairRepeat right(*static_cast<const float*>(in[1]));
    const size_t done = binary_pairs(Op{}, PairStream{lhs}, right, to, size);
    return binary_row(Op{}, lhs + done, rhs, to + done, size - done, splat);
  }
  const PairRepeat left(*static_cast<const float*>(in[0]));
  const size_t done = binary_pairs(Op{}, left, PairStream{rhs}, to, size);
  binary_row(Op{}, lhs, rhs + done, to + done, size - done, splat);
}

/// RowFunction of an op of one input.
template <class Op>
void unary_pairs_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const BFloat16*>(in[0]);
  auto* const to = static_cast<BFloat16*>(out);
  const auto size = static_cast<size_t>(count);
  const PairLanes d;
  const size_t step = 2 * hn::Lanes(d);
  const PairStream given{from};
  size_t i = 0;
  for (; i + step <= size; i += step) {
    const Pair pair = given.load(i);
    store_pair(Op{}(d, pair.even), Op{}(d, pair.odd), to + i);
  }
  unary_row(Op{}, from + i, to + i, size - i);
}

/// Enters Op for all floating dtypes, with these loops for bfloat16.
template <class Op>
void fill_by_pairs(KernelTable<UnaryKernel>& table) {
  fill<Op>(table);
  set_rows<&unary_pairs_function<Op>>(table, DType::bfloat16);
}
template <class Op>
void fill_by_pairs(KernelTable<BinaryKernel>& table) {
  fill<Op>(table);
  set_rows<&binary_pairs_function<Op>>(table, DType::bfloat16);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
