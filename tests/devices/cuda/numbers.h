// tests/devices/cuda/numbers.h -- elements of device memory as numbers, for the stand-ins of
// libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ebb/core/base/half.h"

namespace stand_in {

enum class Kind { f16, bf16, f32, f64 };

inline size_t item_size(Kind kind) { return kind == Kind::f64 ? 8 : kind == Kind::f32 ? 4 : 2; }

inline float of_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
/// The bits of a float without the last `dropped`, rounded to even. Not for NaN.
inline uint32_t rounded(float value, int dropped) {
  const uint32_t bits = bits_of(value);
  const uint32_t half = (1u << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  return (bits + half) >> dropped << dropped;
}
inline float tf32(float value) { return std::isnan(value) ? value : of_bits(rounded(value, 13)); }

inline double load(const char* place, Kind kind) {
  switch (kind) {
    case Kind::f64: return *reinterpret_cast<const double*>(place);
    case Kind::f32: return *reinterpret_cast<const float*>(place);
    case Kind::f16: return static_cast<float>(*reinterpret_cast<const ebb::Half*>(place));
    default: return static_cast<float>(*reinterpret_cast<const ebb::BFloat16*>(place));
  }
}

/// Rounds to the half types by way of float.
inline void store(char* place, Kind kind, double value) {
  const auto narrow = static_cast<float>(value);
  switch (kind) {
    case Kind::f64: *reinterpret_cast<double*>(place) = value; return;
    case Kind::f32: *reinterpret_cast<float*>(place) = narrow; return;
    case Kind::f16: *reinterpret_cast<ebb::Half*>(place) = ebb::Half(narrow); return;
    default: *reinterpret_cast<ebb::BFloat16*>(place) = ebb::BFloat16(narrow); return;
  }
}

}  // namespace stand_in
