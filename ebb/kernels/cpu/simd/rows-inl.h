// ebb/kernels/cpu/simd/rows-inl.h -- vectorised loops over contiguous memory, for every target.
//
// Included by files that Highway compiles once per target (see each_target.h), hence no #pragma
// once. An Op is a struct with `operator()(d, v...)`. The last vector of a loop overlaps the one
// before; it is computed first, because `out` may be an input. Fewer elements than a vector use
// masks. Half types are widened to float32 tile by tile.
#if defined(EBB_KERNELS_CPU_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_ROWS_INL_H
#undef EBB_KERNELS_CPU_ROWS_INL_H
#else
#define EBB_KERNELS_CPU_ROWS_INL_H
#endif

#include <cstring>
#include <type_traits>

#include "ebb/core/base/half.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Whether masked loads and stores leave the other lanes' memory alone.
template <typename T>
inline constexpr bool has_masked_memory = HWY_TARGET <= HWY_AVX3 ||
                                          (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);

/// The first `count` lanes from memory, the others zero; count is less than a vector.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t count) {
  if constexpr (has_masked_memory<T>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
    std::memcpy(buffer, from, count * sizeof(T));
    return hn::Load(d, buffer);
  }
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, size_t count) {
  if constexpr (has_masked_memory<T>) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, buffer);
    std::memcpy(to, buffer, count * sizeof(T));
  }
}

template <class Op, typename T>
HWY_INLINE void unary_row(Op op, const T* in, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count != 0) store_first(op(d, load_first(d, in, count)), d, out, count);
    return;
  }
  const auto last = op(d, hn::LoadU(d, in + count - lanes));
  for (size_t i = 0; i + lanes < count; i += lanes) {
    hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  }
  hn::StoreU(last, d, out + count - lanes);
}

/// Reads a contiguous operand.
template <typename T>
struct Stream {
  const T* data;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t i) const {
    return hn::LoadU(d, data + i);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> first(D d, size_t count) const {
    return load_first(d, data, count);
  }
};

/// Reads one element again and again.
template <typename T>
struct Repeat {
  T value;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t) const {
    return hn::Set(d, value);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> first(D d, size_t) const {
    return hn::Set(d, value);
  }
};

template <class Op, class Lhs, class Rhs, typename T>
HWY_INLINE void binary_loop(Op op, Lhs lhs, Rhs rhs, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count != 0) store_first(op(d, lhs.first(d, count), rhs.first(d, count)), d, out, count);
    return;
  }
  const auto last = op(d, lhs.load(d, count - lanes), rhs.load(d, count - lanes));
  for (size_t i = 0; i + lanes < count; i += lanes) {
    hn::StoreU(op(d, lhs.load(d, i), rhs.load(d, i)), d, out + i);
  }
  hn::StoreU(last, d, out + count - lanes);
}

template <class Op, typename T>
HWY_INLINE void binary_row(Op op, const T* lhs, const T* rhs, T* out, size_t count,
                           unsigned splat) {
  if (splat == 0) return binary_loop(op, Stream<T>{lhs}, Stream<T>{rhs}, out, count);
  if (splat == 2) return binary_loop(op, Stream<T>{lhs}, Repeat<T>{*rhs}, out, count);
  binary_loop(op, Repeat<T>{*lhs}, Stream<T>{rhs}, out, count);
}

/// float32 values of `count` half-precision numbers.
inline void widen(const BFloat16* in, float* out, size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto* bits = reinterpret_cast<const uint16_t*>(in);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, bits + i)));
    hn::StoreU(hn::BitCast(d, wide), d, out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

inline void widen(const Half* in, float* out, size_t count) {
  size_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const auto* bits = reinterpret_cast<const hwy::float16_t*>(in);
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, bits + i)), d, out + i);
  }
#endif
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

/// The same the other way, rounded to nearest even.
inline void narrow(const float* in, BFloat16* out, size_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  auto* bits = reinterpret_cast<uint16_t*>(out);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, in + i);
    const auto wide = hn::BitCast(du, value);
    const auto upper = hn::ShiftRight<16>(wide);
    const auto odd = hn::And(upper, hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(wide, hn::Add(odd, hn::Set(du, 0x7fffu))));
    const auto quiet = hn::Or(upper, hn::Set(du, 0x40u));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
    const auto result = hn::IfThenElse(is_nan, quiet, rounded);
    // DemoteTo saturates signed numbers; these are below 2^16, so it only drops the upper half.
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, result)), d16, bits + i);
  }
  for (; i < count; ++i) out[i] = BFloat16(in[i]);
}

inline void narrow(const float* in, Half* out, size_t count) {
  size_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  auto* bits = reinterpret_cast<hwy::float16_t*>(out);
  const size_t lanes = hn::Lanes(d);
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::DemoteTo(d16, hn::LoadU(d, in + i)), d16, bits + i);
  }
#endif
  for (; i < count; ++i) out[i] = Half(in[i]);
}

/// RowFunction of an op with one input, for float32, float64 and the half types.
template <class Op, typename T>
void unary_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const T*>(in[0]);
  auto* to = static_cast<T*>(out);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float tile[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const auto part = static_cast<size_t>(HWY_MIN(kTile, count - i));
      widen(from + i, tile, part);
      unary_row(Op{}, tile, tile, part);
      narrow(tile, to + i, part);
    }
  } else {
    unary_row(Op{}, from, to, static_cast<size_t>(count));
  }
}

/// RowFunction of an op with two inputs.
template <class Op, typename T>
void binary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  auto* to = static_cast<T*>(out);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float lhs_tile[kTile];
    HWY_ALIGN float rhs_tile[kTile];
    const bool repeats_lhs = (splat & 1u) != 0;
    const bool repeats_rhs = (splat & 2u) != 0;
    for (int64_t i = 0; i < count; i += kTile) {
      const auto part = static_cast<size_t>(HWY_MIN(kTile, count - i));
      widen(lhs + (repeats_lhs ? 0 : i), lhs_tile, repeats_lhs ? 1 : part);
      widen(rhs + (repeats_rhs ? 0 : i), rhs_tile, repeats_rhs ? 1 : part);
      // The result must not overwrite a repeated element that the next round reads again.
      binary_row(Op{}, lhs_tile, rhs_tile, repeats_lhs ? rhs_tile : lhs_tile, part, splat);
      narrow(repeats_lhs ? rhs_tile : lhs_tile, to + i, part);
    }
  } else {
    binary_row(Op{}, lhs, rhs, to, static_cast<size_t>(count), splat);
  }
}

/// One of three operands: contiguous, or one vector that is read again and again.
template <typename T>
struct Strip {
  HWY_ALIGN T repeated[HWY_MAX_BYTES / sizeof(T)];
  const T* data;
  size_t step;

  HWY_INLINE void set(const T* from, bool repeats) {
    data = from;
    step = repeats ? 0 : 1;
    if (!repeats) return;
    const hn::ScalableTag<T> d;
    hn::Store(hn::Set(d, *from), d, repeated);
    data = repeated;
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, size_t i) const {
    return hn::LoadU(d, data + i * step);
  }
};

template <class Op, typename T>
HWY_INLINE void ternary_row(Op op, const Strip<T>* in, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if (count == 0) return;
    const auto result = op(d, load_first(d, in[0].data, count), load_first(d, in[1].data, count),
                           load_first(d, in[2].data, count));
    return store_first(result, d, out, count);
  }
  const size_t end = count - lanes;
  const auto last = op(d, in[0].load(d, end), in[1].load(d, end), in[2].load(d, end));
  for (size_t i = 0; i < end; i += lanes) {
    hn::StoreU(op(d, in[0].load(d, i), in[1].load(d, i), in[2].load(d, i)), d, out + i);
  }
  hn::StoreU(last, d, out + end);
}

/// RowFunction of an op with three inputs.
template <class Op, typename T>
void ternary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  auto* to = static_cast<T*>(out);
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float tiles[3][kTile];
    Strip<float> strips[3];
    for (int64_t i = 0; i < count; i += kTile) {
      const auto part = static_cast<size_t>(HWY_MIN(kTile, count - i));
      for (int k = 0; k < 3; ++k) {
        const bool repeats = (splat >> k & 1u) != 0;
        widen(static_cast<const T*>(in[k]) + (repeats ? 0 : i), tiles[k], repeats ? 1 : part);
        strips[k].set(tiles[k], repeats);
      }
      // Some tile is not repeated, and each element is read before it is written.
      float* const result = (splat & 1u) == 0 ? tiles[0] : (splat & 2u) == 0 ? tiles[1] : tiles[2];
      ternary_row(Op{}, strips, result, part);
      narrow(result, to + i, part);
    }
  } else {
    Strip<T> strips[3];
    for (int k = 0; k < 3; ++k) strips[k].set(static_cast<const T*>(in[k]), (splat >> k & 1u) != 0);
    ternary_row(Op{}, strips, to, static_cast<size_t>(count));
  }
}

/// Enters Op for all floating dtypes.
template <class Op>
void fill(KernelTable<UnaryKernel>& table) {
  set_rows<&unary_function<Op, Half>>(table, DType::float16);
  set_rows<&unary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&unary_function<Op, float>>(table, DType::float32);
  set_rows<&unary_function<Op, double>>(table, DType::float64);
}
template <class Op>
void fill(KernelTable<BinaryKernel>& table) {
  set_rows<&binary_function<Op, Half>>(table, DType::float16);
  set_rows<&binary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&binary_function<Op, float>>(table, DType::float32);
  set_rows<&binary_function<Op, double>>(table, DType::float64);
}
template <class Op>
void fill(KernelTable<TernaryKernel>& table) {
  set_rows<&ternary_function<Op, Half>>(table, DType::float16);
  set_rows<&ternary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&ternary_function<Op, float>>(table, DType::float32);
  set_rows<&ternary_function<Op, double>>(table, DType::float64);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
