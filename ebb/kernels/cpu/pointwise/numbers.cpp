// ebb/kernels/cpu/pointwise/numbers.cpp -- signs, neighbours and scales of numbers; divisors,
// multiples and shifts of integers.
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <type_traits>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/copysign.h"
#include "ebb/kernels/tables/fmax.h"
#include "ebb/kernels/tables/fmin.h"
#include "ebb/kernels/tables/frexp_exponent.h"
#include "ebb/kernels/tables/frexp_mantissa.h"
#include "ebb/kernels/tables/gcd.h"
#include "ebb/kernels/tables/heaviside.h"
#include "ebb/kernels/tables/lcm.h"
#include "ebb/kernels/tables/ldexp.h"
#include "ebb/kernels/tables/left_shift.h"
#include "ebb/kernels/tables/nextafter.h"
#include "ebb/kernels/tables/right_shift.h"

namespace ebb::kernels::cpu {
namespace {

// Of a number and NaN, the number.
constexpr auto larger = [](auto lhs, auto rhs) { return rhs > lhs || lhs != lhs ? rhs : lhs; };
constexpr auto smaller = [](auto lhs, auto rhs) { return rhs < lhs || lhs != lhs ? rhs : lhs; };
struct Heaviside {
  template <typename T>
  T operator()(T x, T at_zero) const {
    if (x == T{0}) return at_zero;
    return x != x ? x : static_cast<T>(x > T{0});
  }
};
/// x 2^n; halves of n, so that neither power leaves the range before the product does.
struct Ldexp {
  template <typename W>
  W operator()(W x, W n) const {
    if (n == std::trunc(n) && std::abs(n) < 100000) return std::ldexp(x, static_cast<int>(n));
    const W power = std::exp2(n / 2);
    return x * power * power;
  }
  template <typename T>
  std::complex<T> operator()(std::complex<T> x, std::complex<T> n) const {
    const Ldexp scaled;
    const std::complex<T> grown{scaled(x.real(), n.real()), scaled(x.imag(), n.real())};
    if (n.imag() == T{0}) return grown;
    const T angle = n.imag() * std::numbers::ln2_v<T>;
    const T cosine = std::cos(angle), sine = std::sin(angle);
    return {grown.real() * cosine - grown.imag() * sine,
            grown.real() * sine + grown.imag() * cosine};
  }
};

struct FrexpMantissa {
  template <typename W>
  W operator()(W x) const {
    int exponent = 0;
    return std::frexp(x, &exponent);
  }
};
/// C leaves the exponent of infinities and NaN open.
struct FrexpExponent {
  template <typename W>
  W operator()(W x) const {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return static_cast<W>(exponent);
  }
};

struct Nextafter {
  template <typename T>
  T operator()(T from, T to) const {
    return std::nextafter(from, to);
  }
  Half operator()(Half from, Half to) const { return neighbour(from, to); }
  Half operator()(Half from, float to) const { return neighbour(from, to); }
  Half operator()(float from, Half to) const { return neighbour(Half(from), to); }
  BFloat16 operator()(BFloat16 from, BFloat16 to) const { return neighbour(from, to); }
  BFloat16 operator()(BFloat16 from, float to) const { return neighbour(from, to); }
  BFloat16 operator()(float from, BFloat16 to) const { return neighbour(BFloat16(from), to); }

 private:
  /// By the bits, which count up away from 0.
  template <typename T, typename To>
  static T neighbour(T from, To to) {
    const auto start = static_cast<float>(from);
    const auto end = static_cast<float>(to);
    if (start == end) return T(end);
    if (std::isnan(start) || std::isnan(end)) return T(start + end);
    auto bits = std::bit_cast<uint16_t>(from);
    if (start == 0) {
      bits = end > 0 ? 1 : 0x8001;
    } else {
      const bool goes_out = (end > start) == (start > 0);
      bits = static_cast<uint16_t>(goes_out ? bits + 1 : bits - 1);
    }
    return std::bit_cast<T>(bits);
  }
};

/// The size of an integer, that of the least one too.
template <typename T>
uint64_t size_of(T x) {
  const auto wide = static_cast<uint64_t>(static_cast<int64_t>(x));
  return x < T{0} ? uint64_t{0} - wide : wide;
}
uint64_t common_divisor(uint64_t lhs, uint64_t rhs) {
  while (rhs != 0) {
    const uint64_t rest = lhs % rhs;
    lhs = rhs;
    rhs = rest;
  }
  return lhs;
}
/// Shifts by less than 0 or by all bits leave what a long shift leaves.
template <typename T>
bool is_shift(T by) {
  return by >= T{0} && by < static_cast<T>(8 * sizeof(T));
}
struct LeftShift {
  template <typename T>
  T operator()(T x, T by) const {
    return is_shift(by) ? static_cast<T>(static_cast<uint64_t>(x) << by) : T{0};
  }
};
struct RightShift {
  template <typename T>
  T operator()(T x, T by) const {
    const T last = static_cast<T>(8 * sizeof(T) - 1);
    return static_cast<T>(x >> (is_shift(by) ? by : last) >> (is_shift(by) || x < T{0} ? 0 : 1));
  }
};

}  // namespace

void fill_numbers() {
  fill_wide(copysign_kernels, [](auto x, auto sign) { return std::copysign(x, sign); });
  fill_wide<Ldexp>(ldexp_kernels);
  set_complex<Ldexp>(ldexp_kernels);
  fill_wide<FrexpMantissa>(frexp_mantissa_kernels);
  fill_wide<FrexpExponent>(frexp_exponent_kernels);
  fill_wide(fmax_kernels, larger);
  fill_wide(fmin_kernels, smaller);
  fill_wide<Heaviside>(heaviside_kernels);
  set_signed_integers(fmax_kernels, larger);
  set_signed_integers(fmin_kernels, smaller);
  set_signed_integers<Heaviside>(heaviside_kernels);
  set<std::remove_const_t<decltype(larger)>, bool>(fmax_kernels);
  set<std::remove_const_t<decltype(smaller)>, bool>(fmin_kernels);
  set<Heaviside, bool>(heaviside_kernels);
  set<Nextafter, Half>(nextafter_kernels);
  set<Nextafter, BFloat16>(nextafter_kernels);
  set<Nextafter, float>(nextafter_kernels);
  set<Nextafter, double>(nextafter_kernels);
  set_signed_integers(
      gcd_kernels, [](auto lhs, auto rhs) { return common_divisor(size_of(lhs), size_of(rhs)); });
  set_signed_integers(lcm_kernels, [](auto lhs, auto rhs) {
    const uint64_t divisor = common_divisor(size_of(lhs), size_of(rhs));
    return divisor == 0 ? 0 : size_of(lhs) / divisor * size_of(rhs);
  });
  set_signed_integers<LeftShift>(left_shift_kernels);
  set_signed_integers<RightShift>(right_shift_kernels);
}

}  // namespace ebb::kernels::cpu
