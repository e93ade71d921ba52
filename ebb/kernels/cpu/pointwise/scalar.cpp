// ebb/kernels/cpu/pointwise/scalar.cpp -- functions of two numbers that are computed one element
// at a time, by the C library: atan2, hypot, fmod, remainder, floor_divide.
//
// Half types are computed in float32. Integers are in integer.cpp.
#include <cmath>
#include <type_traits>

#include "ebb/core/base/half.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/atan2.h"
#include "ebb/kernels/tables/floor_divide.h"
#include "ebb/kernels/tables/fmod.h"
#include "ebb/kernels/tables/hypot.h"
#include "ebb/kernels/tables/remainder.h"

namespace ebb::kernels::cpu {
namespace {

/// An op of float and double, for every floating type; beside half types numbers are float.
template <class Op>
struct Widened {
  template <typename Lhs, typename Rhs>
  auto operator()(Lhs lhs, Rhs rhs) const {
    if constexpr (is_half_number<Lhs> || is_half_number<Rhs>) {
      return Op()(static_cast<float>(lhs), static_cast<float>(rhs));
    } else {
      return Op()(lhs, rhs);
    }
  }
};

/// The remainder that has the sign of the divisor.
struct Remainder {
  template <typename T>
  T operator()(T x, T y) const {
    const T rest = std::fmod(x, y);
    return rest != T{0} && std::signbit(rest) != std::signbit(y) ? rest + y : rest;
  }
};
/// By way of the remainder: floor(x / y) would be one too large where the quotient is rounded up.
struct FloorDivide {
  template <typename T>
  T operator()(T x, T y) const {
    if (y == T{0}) return x / y;
    const T rest = std::fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != T{0} && std::signbit(rest) != std::signbit(y)) quotient -= T{1};
    if (quotient == T{0}) return std::copysign(T{0}, x / y);
    const T below = std::floor(quotient);
    return quotient - below > T(0.5) ? below + T{1} : below;
  }
};

template <class Op>
void set_floating(KernelTable<BinaryKernel>& table, Op) {
  set<Widened<Op>, Half>(table);
  set<Widened<Op>, BFloat16>(table);
  set<Widened<Op>, float>(table);
  set<Widened<Op>, double>(table);
}

}  // namespace

void fill_scalar() {
  set_floating(atan2_kernels, [](auto y, auto x) { return std::atan2(y, x); });
  set_floating(hypot_kernels, [](auto x, auto y) { return std::hypot(x, y); });
  set_floating(fmod_kernels, [](auto x, auto y) { return std::fmod(x, y); });
  set_floating(remainder_kernels, Remainder());
  set_floating(floor_divide_kernels, FloorDivide());
}

}  // namespace ebb::kernels::cpu
