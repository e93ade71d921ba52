// ebb/kernels/cpu/pointwise/integer.cpp -- element-wise ops that integers and bool do in their own
// way.
//
// Divisors of 0 are refused before a kernel runs (check::no_zero_divisor); were one to come, the
// result is 0: no element may stop the program. The quotient of the least number and -1 wraps.
#include <algorithm>
#include <type_traits>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/abs.h"
#include "ebb/kernels/tables/bitwise_and.h"
#include "ebb/kernels/tables/bitwise_not.h"
#include "ebb/kernels/tables/bitwise_or.h"
#include "ebb/kernels/tables/bitwise_xor.h"
#include "ebb/kernels/tables/ceil.h"
#include "ebb/kernels/tables/clamp.h"
#include "ebb/kernels/tables/floor.h"
#include "ebb/kernels/tables/floor_divide.h"
#include "ebb/kernels/tables/fmod.h"
#include "ebb/kernels/tables/maximum.h"
#include "ebb/kernels/tables/minimum.h"
#include "ebb/kernels/tables/pow.h"
#include "ebb/kernels/tables/remainder.h"
#include "ebb/kernels/tables/round.h"
#include "ebb/kernels/tables/sign.h"
#include "ebb/kernels/tables/trunc.h"

namespace ebb::kernels::cpu {
namespace {

/// x * y without overflow: in unsigned arithmetic.
template <typename T>
T wrapping_product(T x, T y) {
  return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

/// Whether x / y can be computed by the machine; what it is otherwise is known.
template <typename T>
bool is_regular_divisor(T y) {
  return y != T{0} && (std::is_unsigned_v<T> || y != static_cast<T>(-1));
}
struct Fmod {
  template <typename T>
  T operator()(T x, T y) const {
    return is_regular_divisor(y) ? static_cast<T>(x % y) : T{0};
  }
};
struct Remainder {
  template <typename T>
  T operator()(T x, T y) const {
    const T rest = Fmod()(x, y);
    const bool differs = rest != T{0} && (rest < T{0}) != (y < T{0});
    return differs ? static_cast<T>(rest + y) : rest;
  }
};
struct FloorDivide {
  template <typename T>
  T operator()(T x, T y) const {
    if (!is_regular_divisor(y)) return y == T{0} ? T{0} : wrapping_product(x, y);
    const bool goes_down = x % y != T{0} && (x < T{0}) != (y < T{0});
    return static_cast<T>(x / y - (goes_down ? 1 : 0));
  }
};
/// Negative powers are 0, but those of 1 and -1.
struct Pow {
  template <typename T>
  T operator()(T base, T exponent) const {
    if (exponent < T{0}) {
      if (base == T{1}) return base;
      if (base != static_cast<T>(-1)) return T{0};
      return exponent % T{2} == T{0} ? T{1} : base;
    }
    T result{1};
    for (T left = exponent; left > T{0}; left = static_cast<T>(left / 2)) {
      if (left % 2 != 0) result = wrapping_product(result, base);
      base = wrapping_product(base, base);
    }
    return result;
  }
};

struct BitNot {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>) {
      return !x;
    } else {
      return static_cast<T>(~x);
    }
  }
};

constexpr auto same = [](auto x) { return x; };
constexpr auto bit_and = [](auto lhs, auto rhs) { return lhs & rhs; };
constexpr auto bit_or = [](auto lhs, auto rhs) { return lhs | rhs; };
constexpr auto bit_xor = [](auto lhs, auto rhs) { return lhs ^ rhs; };

template <class Table, class Op>
void set_bool(Table& table, Op) {
  set<Op, bool>(table);
}

void fill_bits() {
  set_integers(bitwise_and_kernels, bit_and);
  set_integers(bitwise_or_kernels, bit_or);
  set_integers(bitwise_xor_kernels, bit_xor);
  set_integers<BitNot>(bitwise_not_kernels);
  set_bool(bitwise_and_kernels, bit_and);
  set_bool(bitwise_or_kernels, bit_or);
  set_bool(bitwise_xor_kernels, bit_xor);
  set<BitNot, bool>(bitwise_not_kernels);
}

}  // namespace

void fill_integer() {
  set_signed_integers(abs_kernels, []<typename T>(T x) {
    return x < T{0} ? wrapping_product(x, static_cast<T>(-1)) : x;
  });
  set_signed_integers(sign_kernels, []<typename T>(T x) { return (x > T{0}) - (x < T{0}); });
  set_signed_integers(maximum_kernels, [](auto lhs, auto rhs) { return std::max(lhs, rhs); });
  set_signed_integers(minimum_kernels, [](auto lhs, auto rhs) { return std::min(lhs, rhs); });
  set_signed_integers(clamp_kernels,
                      [](auto x, auto low, auto high) { return std::min(std::max(x, low), high); });
  set_signed_integers<Fmod>(fmod_kernels);
  set_signed_integers<Remainder>(remainder_kernels);
  set_signed_integers<FloorDivide>(floor_divide_kernels);
  set_signed_integers<Pow>(pow_kernels);
  set_bool(sign_kernels, same);
  set_bool(maximum_kernels, bit_or);
  set_bool(minimum_kernels, bit_and);
  for (auto* table : {&floor_kernels, &ceil_kernels, &round_kernels, &trunc_kernels}) {
    set_integers(*table, same);
  }
  fill_bits();
}

}  // namespace ebb::kernels::cpu
