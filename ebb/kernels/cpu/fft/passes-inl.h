// ebb/kernels/cpu/fft/passes-inl.h -- transforms of lines that lie in memory of the kernel's own.
//
// A pair is a complex number for each lane: all real parts, then all imaginary ones. A line is a
// row of pairs, so that a tile of as many lines as there are lanes is transformed at once, lane by
// lane alike. All transforms are forward ones: a backward one exchanges real and imaginary parts
// before and after. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_FFT_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_FFT_PASSES_INL_H
#undef EBB_KERNELS_CPU_FFT_PASSES_INL_H
#else
#define EBB_KERNELS_CPU_FFT_PASSES_INL_H
#endif

#include <cstddef>
#include <utility>

#include "ebb/kernels/cpu/fft/plan.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Pair {
  hn::Vec<D> re, im;
};

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Pair<D> load_pair(D d, const T* line, int64_t i) {
  const T* const at = line + 2 * i * static_cast<int64_t>(hn::Lanes(d));
  return {hn::LoadU(d, at), hn::LoadU(d, at + hn::Lanes(d))};
}
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_pair(D d, Pair<D> pair, T* line, int64_t i) {
  T* const at = line + 2 * i * static_cast<int64_t>(hn::Lanes(d));
  hn::StoreU(pair.re, d, at);
  hn::StoreU(pair.im, d, at + hn::Lanes(d));
}

template <class D>
HWY_INLINE Pair<D> sum(Pair<D> a, Pair<D> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Pair<D> difference(Pair<D> a, Pair<D> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// a - i b, and a + i b.
template <class D>
HWY_INLINE Pair<D> minus_i(Pair<D> a, Pair<D> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class D>
HWY_INLINE Pair<D> plus_i(Pair<D> a, Pair<D> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
template <class D>
HWY_INLINE Pair<D> product(Pair<D> a, Pair<D> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
/// The same complex number in all lanes.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Pair<D> splat(D d, const T* number) {
  return {hn::Set(d, number[0]), hn::Set(d, number[1])};
}
/// a + b x for a real number x.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Pair<D> add_scaled(D d, Pair<D> a, Pair<D> b, T x) {
  const auto factor = hn::Set(d, x);
  return {hn::MulAdd(b.re, factor, a.re), hn::MulAdd(b.im, factor, a.im)};
}
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Pair<D> scaled(D d, Pair<D> a, T x) {
  const auto factor = hn::Set(d, x);
  return {hn::Mul(a.re, factor), hn::Mul(a.im, factor)};
}

/// The transform of kRadix pairs, in place.
template <int kRadix, class D>
HWY_INLINE void butterfly(D d, Pair<D>* c) {
  using T = hn::TFromD<D>;
  if constexpr (kRadix == 2) {
    const Pair<D> first = c[0];
    c[0] = sum<D>(first, c[1]);
    c[1] = difference<D>(first, c[1]);
  } else if constexpr (kRadix == 3) {
    const Pair<D> even = sum<D>(c[1], c[2]);
    const Pair<D> odd = scaled(d, difference<D>(c[1], c[2]), T(0.866025403784438646763723171L));
    const Pair<D> middle = add_scaled(d, c[0], even, T(-0.5));
    c[0] = sum<D>(c[0], even);
    c[1] = minus_i<D>(middle, odd);
    c[2] = plus_i<D>(middle, odd);
  } else if constexpr (kRadix == 4) {
    const Pair<D> even_sum = sum<D>(c[0], c[2]), even = difference<D>(c[0], c[2]);
    const Pair<D> odd_sum = sum<D>(c[1], c[3]), odd = difference<D>(c[1], c[3]);
    c[0] = sum<D>(even_sum, odd_sum);
    c[1] = minus_i<D>(even, odd);
    c[2] = difference<D>(even_sum, odd_sum);
    c[3] = plus_i<D>(even, odd);
  } else if constexpr (kRadix == 8) {
    constexpr T half = T(0.707106781186547524400844362L);  // of the root of 2
    Pair<D> even[4] = {c[0], c[2], c[4], c[6]}, odd[4] = {c[1], c[3], c[5], c[7]};
    butterfly<4>(d, even);
    butterfly<4>(d, odd);
    const Pair<D> first = scaled(d, minus_i<D>(odd[1], odd[1]), half);
    const Pair<D> third = scaled(d, plus_i<D>(odd[3], odd[3]), half);
    c[0] = sum<D>(even[0], odd[0]);
    c[1] = sum<D>(even[1], first);
    c[2] = minus_i<D>(even[2], odd[2]);
    c[3] = difference<D>(even[3], third);
    c[4] = difference<D>(even[0], odd[0]);
    c[5] = difference<D>(even[1], first);
    c[6] = plus_i<D>(even[2], odd[2]);
    c[7] = sum<D>(even[3], third);
  } else {
    static_assert(kRadix == 5);
    constexpr T cos1 = T(0.309016994374947424102293417L), cos2 = T(-0.809016994374947424102293417L);
    constexpr T sin1 = T(0.951056516295153572116439333L), sin2 = T(0.587785252292473129168705954L);
    const Pair<D> outer = sum<D>(c[1], c[4]), inner = sum<D>(c[2], c[3]);
    const Pair<D> outer_odd = difference<D>(c[1], c[4]), inner_odd = difference<D>(c[2], c[3]);
    const Pair<D> even1 = add_scaled(d, add_scaled(d, c[0], outer, cos1), inner, cos2);
    const Pair<D> even2 = add_scaled(d, add_scaled(d, c[0], outer, cos2), inner, cos1);
    const Pair<D> odd1 = add_scaled(d, scaled(d, outer_odd, sin1), inner_odd, sin2);
    const Pair<D> odd2 = add_scaled(d, scaled(d, outer_odd, sin2), inner_odd, -sin1);
    c[0] = sum<D>(c[0], sum<D>(outer, inner));
    c[1] = minus_i<D>(even1, odd1);
    c[2] = minus_i<D>(even2, odd2);
    c[3] = plus_i<D>(even2, odd2);
    c[4] = plus_i<D>(even1, odd1);
  }
}

/// The same for any odd radix, by `roots` of that order.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void odd_butterfly(D d, int64_t radix, const T* roots, Pair<D>* c) {
  Pair<D> even[kLargestRadix / 2], odd[kLargestRadix / 2];
  const int64_t half = radix / 2;
  Pair<D> total = c[0];
  for (int64_t b = 1; b <= half; ++b) {
    even[b - 1] = sum<D>(c[b], c[radix - b]);
    odd[b - 1] = difference<D>(c[b], c[radix - b]);
    total = sum<D>(total, even[b - 1]);
  }
  const Pair<D> first = c[0];
  c[0] = total;
  for (int64_t j = 1; j <= half; ++j) {
    Pair<D> real = first, turned = {hn::Zero(d), hn::Zero(d)};
    for (int64_t b = 1; b <= half; ++b) {
      const T* const root = roots + 2 * (j * b % radix);
      real = add_scaled(d, real, even[b - 1], root[0]);
      turned = add_scaled(d, turned, odd[b - 1], -root[1]);
    }
    c[j] = minus_i<D>(real, turned);
    c[radix - j] = plus_i<D>(real, turned);
  }
}

/// Loads and stores the pairs of a butterfly. Unrolled by hand: the compiler keeps an array in
/// registers only if all its indices are constants.
template <class D, size_t... b, typename T = hn::TFromD<D>>
HWY_INLINE void load_apart(D d, std::index_sequence<b...>, const T* line, int64_t i, int64_t apart,
                           Pair<D>* c) {
  ((c[b] = load_pair(d, line, i + static_cast<int64_t>(b) * apart)), ...);
}
template <class D, size_t... b, typename T = hn::TFromD<D>>
HWY_INLINE void store_apart(D d, std::index_sequence<b...>, const Pair<D>* c, T* line, int64_t i,
                            int64_t apart) {
  (store_pair(d, c[b], line, i + static_cast<int64_t>(b) * apart), ...);
}
/// Multiplies all pairs but the first by the numbers of a table.
template <class D, size_t... b, typename T = hn::TFromD<D>>
HWY_INLINE void turn_each(D d, std::index_sequence<b...>, const T* turns, Pair<D>* c) {
  ((c[b + 1] = product<D>(c[b + 1], splat(d, turns + 2 * b))), ...);
}

/// One pass over a line.
template <int kRadix, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void run_pass(D d, const FftPass& pass, const T* twiddles, const T* in, T* out) {
  constexpr auto kAll = std::make_index_sequence<kRadix>();
  const int64_t after = pass.after, before = pass.before, apart = after * before;
  const T* const turns = twiddles + pass.twiddles;
  for (int64_t block = 0; block < before; ++block) {
    const int64_t from = after * kRadix * block, to = after * block;
    Pair<D> c[kRadix];
    load_apart(d, kAll, in, from, after, c);  // the first place, whose turns are all 1
    butterfly<kRadix>(d, c);
    store_apart(d, kAll, c, out, to, apart);
    for (int64_t place = 1; place < after; ++place) {
      load_apart(d, kAll, in, from + place, after, c);
      butterfly<kRadix>(d, c);
      turn_each(d, std::make_index_sequence<kRadix - 1>(), turns + 2 * (kRadix - 1) * place, c);
      store_apart(d, kAll, c, out, to + place, apart);
    }
  }
}

/// One pass of any odd radix.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void run_odd_pass(D d, const FftPass& pass, const T* twiddles, const T* in, T* out) {
  const T* const roots = twiddles + pass.roots;
  const int64_t radix = pass.radix, after = pass.after, apart = pass.after * pass.before;
  for (int64_t block = 0; block < pass.before; ++block) {
    const T* turn = twiddles + pass.twiddles;
    for (int64_t place = 0; place < after; ++place) {
      Pair<D> c[kLargestRadix];
      const int64_t from = place + after * radix * block, to = place + after * block;
      for (int64_t b = 0; b < radix; ++b) c[b] = load_pair(d, in, from + b * after);
      odd_butterfly(d, radix, roots, c);
      store_pair(d, c[0], out, to);
      for (int64_t b = 1; b < radix; ++b, turn += 2) {
        const bool is_turned = place != 0;
        store_pair(d, is_turned ? product<D>(c[b], splat(d, turn)) : c[b], out, to + b * apart);
      }
    }
  }
}

template <class D, typename T = hn::TFromD<D>>
void run_any_pass(D d, const FftPass& pass, const T* twiddles, const T* in, T* out) {
  switch (pass.radix) {
    case 2: return run_pass<2>(d, pass, twiddles, in, out);
    case 3: return run_pass<3>(d, pass, twiddles, in, out);
    case 4: return run_pass<4>(d, pass, twiddles, in, out);
    case 5: return run_pass<5>(d, pass, twiddles, in, out);
    case 8: return run_pass<8>(d, pass, twiddles, in, out);
    default: return run_odd_pass(d, pass, twiddles, in, out);
  }
}

/// Pair i becomes that times number i of a table, its parts exchanged if `exchange`.
template <class D, typename T = hn::TFromD<D>>
void multiply_line(D d, T* line, const T* table, int64_t count, bool exchange) {
  for (int64_t i = 0; i < count; ++i) {
    Pair<D> found = product<D>(load_pair(d, line, i), splat(d, table + 2 * i));
    if (exchange) std::swap(found.re, found.im);
    store_pair(d, found, line, i);
  }
}

/// The transform of the line in `line` by passes or by a convolution; both have room for
/// plan.room() pairs. Afterwards the result is in `line`, and the pointers may have changed places.
template <class D, typename T = hn::TFromD<D>>
void transform_tile(D d, const FftPlan<T>& plan, T*& line, T*& other) {
  for (const FftPass& pass : plan.passes) {
    run_any_pass(d, pass, plan.twiddles.data(), line, other);
    std::swap(line, other);
  }
}

/// The same by a convolution with a chirp, where the transforms of its longer line are `run`.
template <class D, class Run, typename T = hn::TFromD<D>>
void transform_chirp(D d, const FftPlan<T>& plan, T*& line, T*& other, Run&& run) {
  const int64_t room = plan.padded->length;
  multiply_line(d, line, plan.chirp.data(), plan.length, false);
  const Pair<D> zero{hn::Zero(d), hn::Zero(d)};
  for (int64_t i = plan.length; i < room; ++i) store_pair(d, zero, line, i);
  run(*plan.padded, line, other);
  multiply_line(d, line, plan.spectrum.data(), room, true);
  run(*plan.padded, line, other);
  for (int64_t i = 0; i < plan.length; ++i) {
    Pair<D> found = load_pair(d, line, i);
    std::swap(found.re, found.im);
    store_pair(d, product<D>(found, splat(d, plan.chirp.data() + 2 * i)), line, i);
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_FFT_PASSES_INL_H
