// ebb/kernels/cpu/simd/plain_rows.h -- element-wise loops that are left to the compiler, for any
// type.
//
// An Op is a struct with a template operator(), or a lambda; its result is cast to the type of the
// operands. Included by files whose kernels need no vector instructions by hand: integers, bool,
// complex numbers.
#pragma once

#include <complex>
#include <type_traits>

#include "ebb/kernels/cpu/simd/loops.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
inline constexpr bool is_complex_type = !std::is_arithmetic_v<T>;

template <class Op, typename T>
void unary_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const T*>(in[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(Op()(from[i]));
}

template <class Op, typename T>
void binary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  auto* to = static_cast<T*>(out);
  if (splat == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(Op()(lhs[i], rhs[i]));
  } else if (splat == 1) {
    const auto value = *static_cast<const NumberOf<T>*>(in[0]);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(Op()(value, rhs[i]));
  } else {
    const auto value = *static_cast<const NumberOf<T>*>(in[1]);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(Op()(lhs[i], value));
  }
}

template <class Op, typename T>
void set(KernelTable<BinaryKernel>& table, DType dtype = dtype_of<T>) {
  set_rows<&binary_function<Op, T>>(table, dtype);
}
template <class Op, typename T>
void set(KernelTable<UnaryKernel>& table, DType dtype = dtype_of<T>) {
  set_rows<&unary_function<Op, T>>(table, dtype);
}

template <class Op, typename T>
void ternary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const T* from[] = {static_cast<const T*>(in[0]), static_cast<const T*>(in[1]),
                     static_cast<const T*>(in[2])};
  const int64_t steps[] = {(splat & 1u) == 0, (splat & 2u) == 0, (splat & 4u) == 0};
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Op()(from[0][i * steps[0]], from[1][i * steps[1]], from[2][i * steps[2]]);
  }
}
template <class Op, typename T>
void set(KernelTable<TernaryKernel>& table, DType dtype = dtype_of<T>) {
  set_rows<&ternary_function<Op, T>>(table, dtype);
}

/// The integer types; unsigned arithmetic serves both signs (and overflow in it is defined).
template <class Op, class Table>
void set_integers(Table& table) {
  set<Op, uint8_t>(table);
  set<Op, uint8_t>(table, DType::int8);
  set<Op, uint16_t>(table, DType::int16);
  set<Op, uint32_t>(table, DType::int32);
  set<Op, uint64_t>(table, DType::int64);
}

/// The same where the sign matters.
template <class Op, class Table>
void set_signed_integers(Table& table) {
  set<Op, uint8_t>(table);
  set<Op, int8_t>(table);
  set<Op, int16_t>(table);
  set<Op, int32_t>(table);
  set<Op, int64_t>(table);
}

template <class Op, class Table>
void set_complex(Table& table) {
  set<Op, std::complex<float>>(table);
  set<Op, std::complex<double>>(table);
}

/// The same with a lambda in place of a struct.
template <class Table, class Op>
void set_integers(Table& table, Op) {
  set_integers<Op>(table);
}
template <class Table, class Op>
void set_signed_integers(Table& table, Op) {
  set_signed_integers<Op>(table);
}
template <class Table, class Op>
void set_complex(Table& table, Op) {
  set_complex<Op>(table);
}

}  // namespace
}  // namespace ebb::kernels::cpu
