// ebb/kernels/cpu/simd/wide_rows.h -- element-wise loops that compute in a wider type than they
// store: half types and float32 in float64, float64 in long double.
//
// For special functions that programs rarely call: a plain formula in the wider type is within one
// unit in the last place of the narrow one, where the formula itself loses some. An Op is a struct
// with a template operator() of double or long double, or a lambda.
#pragma once

#include <type_traits>

#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
using WideOf = std::conditional_t<std::is_same_v<T, double>, long double, double>;

template <class Op, typename T>
void wide_unary(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const T*>(in[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = convert<T>(Op()(convert<WideOf<T>>(from[i])));
}

template <class Op, typename T>
void wide_binary(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  const auto number = [&](int k) {
    return convert<WideOf<T>>(*static_cast<const NumberOf<T>*>(in[k]));
  };
  const bool repeats_left = (splat & 1u) != 0, repeats_right = (splat & 2u) != 0;
  const WideOf<T> left = repeats_left ? number(0) : 0, right = repeats_right ? number(1) : 0;
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = convert<T>(Op()(repeats_left ? left : convert<WideOf<T>>(lhs[i]),
                            repeats_right ? right : convert<WideOf<T>>(rhs[i])));
  }
}

template <class Op, typename T>
void set_wide(KernelTable<UnaryKernel>& table) {
  set_rows<&wide_unary<Op, T>>(table, dtype_of<T>);
}
template <class Op, typename T>
void set_wide(KernelTable<BinaryKernel>& table) {
  set_rows<&wide_binary<Op, T>>(table, dtype_of<T>);
}

/// Enters Op for all floating dtypes.
template <class Op, class Table>
void fill_wide(Table& table) {
  set_wide<Op, Half>(table);
  set_wide<Op, BFloat16>(table);
  set_wide<Op, float>(table);
  set_wide<Op, double>(table);
}
template <class Table, class Op>
void fill_wide(Table& table, Op) {
  fill_wide<Op>(table);
}

}  // namespace
}  // namespace ebb::kernels::cpu
