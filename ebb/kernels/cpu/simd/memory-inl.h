// ebb/kernels/cpu/simd/memory-inl.h -- memory of any floating type as lanes of float32 or float64.
//
// Half types are widened as they are loaded and rounded (to nearest, ties to even) as they are
// stored, so that a loop written for float32 lanes serves them too, without a copy of its
// operands. AVX512-BF16 has an instruction for the rounding, but it takes subnormals for 0.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_MEMORY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_MEMORY_INL_H
#undef EBB_KERNELS_CPU_MEMORY_INL_H
#else
#define EBB_KERNELS_CPU_MEMORY_INL_H
#endif

#include <cstring>
#include <type_traits>

#include "ebb/core/base/half.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// What half types are computed in; others in themselves.
template <typename T>
using LaneOf = std::conditional_t<is_half_type<T>, float, T>;

/// As many lanes of 16 bits as D has.
template <class D>
using HalfLanes = hn::Rebind<uint16_t, D>;

template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const BFloat16*, hn::Vec<HalfLanes<D>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
}

template <class D>
HWY_INLINE hn::Vec<HalfLanes<D>> narrowed(D, BFloat16*, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  // Rounding could carry a NaN's payload into infinity.
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  return hn::TruncateTo(HalfLanes<D>(), hn::ShiftRight<16>(result));
}

#if HWY_TARGET <= HWY_AVX2

template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const Half*, hn::Vec<HalfLanes<D>> bits) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
}
template <class D>
HWY_INLINE hn::Vec<HalfLanes<D>> narrowed(D d, Half*, hn::Vec<D> v) {
  return hn::BitCast(HalfLanes<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}

#else  // no instructions: as half.h does it

template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const Half*, hn::Vec<HalfLanes<D>> half) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::PromoteTo(du, half);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
  // The product moves the exponent, and makes subnormals normal.
  const auto finite = hn::BitCast(du, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f)));
  const auto special = hn::Or(magnitude, hn::Set(du, 0x7f800000u));
  const auto is_finite = hn::Lt(magnitude, hn::Set(du, 0xf800000u));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  return hn::BitCast(d, hn::Or(hn::IfThenElse(is_finite, finite, special), sign));
}
template <class D>
HWY_INLINE hn::Vec<HalfLanes<D>> narrowed(D d, Half*, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto size = hn::Abs(v);
  const auto magnitude = hn::BitCast(du, size);
  const auto quiet =
      hn::Or(hn::Set(du, 0x7e00u), hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3ffu)));
  // The addition rounds what is subnormal in binary16.
  const auto shifted = hn::BitCast(du, hn::Add(size, hn::Set(d, 0.5f)));
  const auto small = hn::Sub(shifted, hn::Set(du, 0x3f000000u));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(magnitude, hn::Set(du, 0xfffu)), odd);
  const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000u)));
  const auto is_small = hn::RebindMask(du, hn::Lt(size, hn::Set(d, 0x1p-14f)));
  const auto is_large = hn::RebindMask(du, hn::Ge(size, hn::Set(d, 65536.0f)));
  auto result = hn::IfThenElse(is_small, small, normal);
  result = hn::IfThenElse(is_large, hn::Set(du, 0x7c00u), result);
  result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, result);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
  return hn::TruncateTo(HalfLanes<D>(), hn::Or(result, sign));
}

#endif

/// A vector from memory, widened if that is narrower than the lanes.
template <class D, typename T>
HWY_INLINE hn::Vec<D> load_lanes(D d, const T* from) {
  if constexpr (is_half_type<T>) {
    return widened(d, from, hn::LoadU(HalfLanes<D>(), reinterpret_cast<const uint16_t*>(from)));
  } else {
    return hn::LoadU(d, from);
  }
}

/// A vector to memory, rounded if that is narrower.
template <class D, typename T>
HWY_INLINE void store_lanes(hn::Vec<D> v, D d, T* to) {
  if constexpr (is_half_type<T>) {
    hn::StoreU(narrowed(d, to, v), HalfLanes<D>(), reinterpret_cast<uint16_t*>(to));
  } else {
    hn::StoreU(v, d, to);
  }
}

/// Whether masked loads and stores leave the other lanes' memory alone.
template <typename T>
inline constexpr bool has_masked_memory = HWY_TARGET <= HWY_AVX3 ||
                                          (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);

/// The first `count` lanes from memory, the others zero; count is less than a vector.
template <class D, typename T>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t count) {
  if constexpr (is_half_type<T>) {
    const auto* bits = reinterpret_cast<const uint16_t*>(from);
    return widened(d, from, load_first(HalfLanes<D>(), bits, count));
  } else if constexpr (has_masked_memory<T>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
    std::memcpy(buffer, from, count * sizeof(T));
    return hn::Load(d, buffer);
  }
}

template <class D, typename T>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, size_t count) {
  if constexpr (is_half_type<T>) {
    store_first(narrowed(d, to, v), HalfLanes<D>(), reinterpret_cast<uint16_t*>(to), count);
  } else if constexpr (has_masked_memory<T>) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, buffer);
    std::memcpy(to, buffer, count * sizeof(T));
  }
}

/// Converts `count` numbers: from half types to float32 or the other way.
template <typename From, typename To>
HWY_INLINE void convert_lanes(const From* in, To* out, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) store_lanes(load_lanes(d, in + i), d, out + i);
  if (i < count) store_first(load_first(d, in + i, count - i), d, out + i, count - i);
}
template <typename T>
void widen(const T* in, float* out, size_t count) {
  convert_lanes(in, out, count);
}
template <typename T>
void narrow(const float* in, T* out, size_t count) {
  convert_lanes(in, out, count);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
