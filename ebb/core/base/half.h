// ebb/core/base/half.h -- the two 16-bit floating types, stored as bits and computed in float32.
//
// Conversions round to nearest, ties to even. Kernels convert whole tiles with SIMD instead; these
// scalar forms serve single values, tails and tests.
#pragma once

#include <bit>
#include <cstdint>

namespace ebb {

/// IEEE 754 binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};

/// The upper half of an IEEE 754 binary32.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool is_nan = (wide & 0x7fffffffu) > 0x7f800000u;
    // Rounding could carry a NaN's payload into infinity: keep the quiet bit instead.
    bits = is_nan ? static_cast<uint16_t>((wide >> 16) | 0x40u)
                  : static_cast<uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

inline Half::Half(float value) {
  const auto wide = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((wide >> 16) & 0x8000u);
  const uint32_t magnitude = wide & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN
    bits = static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  } else if (magnitude >= 0x47800000u) {  // 65536 and above, infinity included
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal in binary16: let the FPU round the addition
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

inline Half::operator float() const {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float subnormal = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

}  // namespace ebb
