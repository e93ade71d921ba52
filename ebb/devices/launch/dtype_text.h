// ebb/devices/launch/dtype_text.h -- what the kernel dialect calls dtypes, and computes them in.
#pragma once

#include "ebb/core/base/dtype.h"

namespace ebb::devices {

/// What a number is in the dialect while it is computed with.
enum class Compute : uint8_t { i32, u32, i64, u64, f32, f64 };

/// The type that elements are computed in; complex numbers have none.
constexpr Compute compute_of(DType dtype) {
  switch (dtype) {
    case DType::uint32: return Compute::u32;
    case DType::uint64: return Compute::u64;
    case DType::int64: return Compute::i64;
    case DType::float16:
    case DType::bfloat16:
    case DType::float32: return Compute::f32;
    case DType::float64: return Compute::f64;
    default: return Compute::i32;
  }
}

/// The type that such numbers are stored in until they are done with.
constexpr DType dtype_of_compute(Compute compute) {
  constexpr DType kTypes[] = {DType::int32,  DType::uint32,  DType::int64,
                              DType::uint64, DType::float32, DType::float64};
  return kTypes[static_cast<int>(compute)];
}

constexpr bool is_floating(Compute compute) { return compute >= Compute::f32; }
constexpr size_t item_size(Compute compute) {
  return compute == Compute::i32 || compute == Compute::u32 || compute == Compute::f32 ? 4 : 8;
}

constexpr const char* text_of(Compute compute) {
  constexpr const char* kTexts[] = {"i32", "u32", "i64", "u64", "f32", "f64"};
  return kTexts[static_cast<int>(compute)];
}
/// The storage type; null for complex numbers, which the dialect does not have.
constexpr const char* text_of(DType dtype) {
  constexpr const char* kTexts[kDTypeCount] = {"b8",   "u8",  "u16", "u32",   "u64",
                                               "i8",   "i16", "i32", "i64",   "f16",
                                               "bf16", "f32", "f64", nullptr, nullptr};
  return kTexts[static_cast<int>(dtype)];
}

}  // namespace ebb::devices
