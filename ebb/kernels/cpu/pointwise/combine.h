// ebb/kernels/cpu/pointwise/combine.h -- how an element that is written joins the one that is
// there: Add with a factor, Multiply, Larger, Smaller, or Assign.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ebb/kernels/cpu/simd/convert.h"

namespace ebb::kernels::cpu {

template <typename T>
T add(T lhs, T rhs) {
  if constexpr (std::is_same_v<T, bool>) {
    return lhs | rhs;
  } else if constexpr (is_half_number<T>) {
    return T(static_cast<float>(lhs) + static_cast<float>(rhs));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(lhs) + static_cast<uint64_t>(rhs));
  } else {
    return lhs + rhs;
  }
}

template <typename T>
T multiply(T lhs, T rhs) {
  if constexpr (std::is_same_v<T, bool>) {
    return lhs & rhs;
  } else if constexpr (is_half_number<T>) {
    return T(static_cast<float>(lhs) * static_cast<float>(rhs));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs));
  } else {
    return lhs * rhs;
  }
}

/// out + factor * value. The factor is float32 beside half types, and the sum rounded once.
template <typename T>
struct Add {
  using Element = T;
  using Factor = std::conditional_t<is_half_number<T>, float, T>;
  static constexpr bool kKeepsLastOnly = false;
  Factor factor = Factor(1);
  bool has_factor = false;

  T operator()(T out, T value) const {
    if constexpr (is_half_number<T>) {
      return T(static_cast<float>(out) + factor * static_cast<float>(value));
    } else {
      return add(out, has_factor ? multiply(value, factor) : value);
    }
  }
};

template <typename T>
struct Multiply {
  using Element = T;
  static constexpr bool kKeepsLastOnly = false;

  T operator()(T out, T value) const { return multiply(out, value); }
};

/// A number as the processor compares it.
template <typename T>
auto comparable(T value) {
  if constexpr (is_half_number<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// The larger one, or NaN.
template <typename T>
struct Larger {
  using Element = T;
  static constexpr bool kKeepsLastOnly = false;

  T operator()(T out, T value) const {
    const auto given = comparable(value);
    return given > comparable(out) || given != given ? value : out;
  }
};

/// The smaller one, or NaN.
template <typename T>
struct Smaller {
  using Element = T;
  static constexpr bool kKeepsLastOnly = false;

  T operator()(T out, T value) const {
    const auto given = comparable(value);
    return given < comparable(out) || given != given ? value : out;
  }
};

/// Writes over; Word is any type of the element's size.
template <typename Word>
struct Assign {
  using Element = Word;
  static constexpr bool kKeepsLastOnly = true;

  Word operator()(Word, Word value) const { return value; }
};

}  // namespace ebb::kernels::cpu
