// ebb/kernels/cpu/pointwise/finite.cpp -- looking for NaN and infinities by their bits, vectorised.
//
// Without its sign bit a float's bits, as an integer, are those of infinity for an infinity and
// more for a NaN: half types need no conversion. Blocks of 4 vectors are combined by their maximum,
// so that there is one test and branch per block.
#include "ebb/kernels/cpu/pointwise/finite.h"

#include <cstring>

#include "ebb/kernels/cpu/each_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Whether any of `count` integers, without its sign bit, is above `limit`.
template <typename T>
bool any_above(const void* data, size_t count, T limit) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto magnitude = hn::Set(d, hwy::LimitsMax<T>());
  const auto limits = hn::Set(d, limit);
  const T* const values = static_cast<const T*>(data);
  const auto at = [&](size_t i) { return hn::And(hn::LoadU(d, values + i), magnitude); };
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto above =
        hn::Or(hn::Or(hn::Gt(at(i), limits), hn::Gt(at(i + lanes), limits)),
               hn::Or(hn::Gt(at(i + 2 * lanes), limits), hn::Gt(at(i + 3 * lanes), limits)));
    if (!hn::AllFalse(d, above)) return true;
  }
  for (; i < count; ++i) {
    T value;
    std::memcpy(&value, values + i, sizeof(T));
    if ((value & hwy::LimitsMax<T>()) > limit) return true;
  }
  return false;
}

bool any_non_finite(DType dtype, const void* data, size_t count, bool only_nan) {
  // The largest bits that are no fault: those of infinity, or of the number before it.
  const int below = only_nan ? 0 : 1;
  switch (dtype) {
    case DType::float16:
      return any_above<int16_t>(data, count, static_cast<int16_t>(0x7c00 - below));
    case DType::bfloat16:
      return any_above<int16_t>(data, count, static_cast<int16_t>(0x7f80 - below));
    case DType::float32: return any_above<int32_t>(data, count, 0x7f800000 - below);
    default: return any_above<int64_t>(data, count, 0x7ff0000000000000 - below);
  }
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {

bool has_non_finite(DType dtype, const void* data, int64_t count, bool only_nan) {
  const auto numbers = static_cast<size_t>(is_complex(dtype) ? 2 * count : count);
  const DType part = is_complex(dtype) ? real_type_of(dtype) : dtype;
  return EBB_CALL_FOR_ISA(usable_isa(), any_non_finite(part, data, numbers, only_nan));
}

}  // namespace ebb::kernels::cpu
#endif
