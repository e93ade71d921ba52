// ebb/kernels/cpu/simd/convert.h -- one element of any type converted to any other.
//
// As in PyTorch: complex to real drops the imaginary part, anything to bool tests for zero,
// floating to integer truncates. What does not fit an integer wraps around from 64 bits; NaN and
// what does not fit 64 bits either gives the smallest int64, so that no input is undefined.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ebb/core/base/half.h"

namespace ebb::kernels::cpu {

template <typename T>
inline constexpr bool is_half_number = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool is_complex_number =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Truncates like the machine instruction, but defined for every value.
template <typename T>
int64_t truncate(T value) {
  // 2^63 is exact in either type; NaN compares false.
  const bool fits = value >= T(-0x1p63) && value < T(0x1p63);
  return fits ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min();
}

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_half_number<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (is_complex_number<To>) {
    if constexpr (is_complex_number<From>) {
      return To(value);
    } else {
      return To(convert<typename To::value_type>(value));
    }
  } else if constexpr (is_complex_number<From>) {
    return convert<To>(value.real());
  } else if constexpr (is_half_number<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    const bool is_large = value >= From(0x1p63) && value < From(0x1p64);
    return is_large ? static_cast<uint64_t>(value) : static_cast<uint64_t>(truncate(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(truncate(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace ebb::kernels::cpu
