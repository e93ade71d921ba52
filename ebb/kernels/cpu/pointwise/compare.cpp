// ebb/kernels/cpu/pointwise/compare.cpp -- comparisons, logic and tests for NaN and infinity:
// operands of any type, a bool out.
//
// The comparison itself is one instruction, so the loops are left to the compiler. Half types are
// compared as float32, tile by tile.
#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>

#include "ebb/kernels/cpu/pointwise/cast.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "ebb/kernels/tables/eq.h"
#include "ebb/kernels/tables/ge.h"
#include "ebb/kernels/tables/greater.h"
#include "ebb/kernels/tables/inside.h"
#include "ebb/kernels/tables/isfinite.h"
#include "ebb/kernels/tables/isinf.h"
#include "ebb/kernels/tables/logical_and.h"
#include "ebb/kernels/tables/logical_not.h"
#include "ebb/kernels/tables/logical_or.h"
#include "ebb/kernels/tables/logical_xor.h"
#include "ebb/kernels/tables/ne.h"

namespace ebb::kernels::cpu {
namespace {

// && and || would branch; Clang warns of & and | between bools that come from calls.
bool both(bool lhs, bool rhs) { return (static_cast<int>(lhs) & static_cast<int>(rhs)) != 0; }
bool either(bool lhs, bool rhs) { return (static_cast<int>(lhs) | static_cast<int>(rhs)) != 0; }

struct Greater {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return lhs > rhs;
  }
};
struct Equal {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return lhs == rhs;
  }
};

struct NotEqual {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return lhs != rhs;
  }
};
struct GreaterEqual {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return lhs >= rhs;
  }
};
struct LogicalAnd {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return both(lhs != T{0}, rhs != T{0});
  }
};
struct LogicalOr {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return either(lhs != T{0}, rhs != T{0});
  }
};
struct LogicalXor {
  template <typename T>
  bool operator()(T lhs, T rhs) const {
    return (lhs != T{0}) != (rhs != T{0});
  }
};

struct LogicalNot {
  template <typename T>
  bool operator()(T x) const {
    return x == T{0};
  }
};
struct IsFinite {
  template <typename T>
  bool operator()(T x) const {
    if constexpr (is_complex(dtype_of<T>)) {
      return both(IsFinite()(x.real()), IsFinite()(x.imag()));
    } else if constexpr (std::is_floating_point_v<T>) {
      return x - x == T{0};
    } else {
      return true;
    }
  }
};
struct IsInf {
  template <typename T>
  bool operator()(T x) const {
    if constexpr (is_complex(dtype_of<T>)) {
      return either(IsInf()(x.real()), IsInf()(x.imag()));
    } else if constexpr (std::is_floating_point_v<T>) {
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      return either(x == kInfinity, x == -kInfinity);
    } else {
      return false;
    }
  }
};

struct Inside {
  template <typename T>
  bool operator()(T x, T low, T high) const {
    return both(x > low, x < high);
  }
};

/// Whether the op asks which operand is greater: the order of both matters to it, and signs do.
template <class Op>
inline constexpr bool has_order = std::is_same_v<Op, Greater> || std::is_same_v<Op, GreaterEqual>;

/// What other ops read integers and bools as: one kernel serves all of a size.
template <typename T>
using BitsOf = std::conditional_t<
    !std::is_integral_v<T>, T,
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>>;

template <class Op, typename T>
void test_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const T*>(in[0]);
  auto* to = static_cast<bool*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = Op()(from[i]);
}

template <class Op, typename T>
void range_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* from = static_cast<const T*>(in[0]);
  const auto* low = static_cast<const T*>(in[1]);
  const auto* high = static_cast<const T*>(in[2]);
  auto* to = static_cast<bool*>(out);
  if (splat == 6) {
    const T first = *low;
    const T last = *high;
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(from[i], first, last);
    return;
  }
  const int64_t steps[] = {(splat & 1u) == 0, (splat & 2u) == 0, (splat & 4u) == 0};
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Op()(from[i * steps[0]], low[i * steps[1]], high[i * steps[2]]);
  }
}

template <class Op, typename T>
void compare_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  auto* to = static_cast<bool*>(out);
  if (splat == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(lhs[i], rhs[i]);
    return;
  }
  const bool repeats_lhs = splat == 1;
  const T value = repeats_lhs ? *lhs : *rhs;
  const T* const from = repeats_lhs ? rhs : lhs;
  if (has_order<Op> && repeats_lhs) {
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(value, from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(from[i], value);
  }
}

/// A row function of float32 for half types. Numbers are float32 already.
template <RowFunction row, typename T, int inputs>
void widened_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const RowFunction widen = cast_row(dtype_of<T>, DType::float32);
  alignas(64) float tiles[inputs][kTile];
  const void* wide[inputs];
  const auto repeats = [&](int k) { return (splat >> k & 1u) != 0; };
  for (int k = 0; k < inputs; ++k) wide[k] = repeats(k) ? in[k] : tiles[k];
  for (int64_t i = 0; i < count; i += kTile) {
    const int64_t part = std::min(kTile, count - i);
    for (int k = 0; k < inputs; ++k) {
      if (repeats(k)) continue;
      const void* from[] = {static_cast<const T*>(in[k]) + i};
      widen(from, tiles[k], part, 0);
    }
    row(wide, static_cast<bool*>(out) + i, part, splat);
  }
}

template <class Op>
void set(KernelTable<BinaryKernel>& table, DType dtype) {
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (is_half_number<T>) {
      set_rows<&widened_function<&compare_function<Op, float>, T, 2>>(table, dtype);
    } else if constexpr (!has_order<Op>) {
      set_rows<&compare_function<Op, BitsOf<T>>>(table, dtype);
    } else if constexpr (!is_complex(dtype_of<T>)) {
      set_rows<&compare_function<Op, T>>(table, dtype);
    }
  });
}
template <class Op>
void set(KernelTable<UnaryKernel>& table, DType dtype) {
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (is_half_number<T>) {
      set_rows<&widened_function<&test_function<Op, float>, T, 1>>(table, dtype);
    } else {
      set_rows<&test_function<Op, BitsOf<T>>>(table, dtype);
    }
  });
}
template <class Op>
void set(KernelTable<TernaryKernel>& table, DType dtype) {
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (is_half_number<T>) {
      set_rows<&widened_function<&range_function<Op, float>, T, 3>>(table, dtype);
    } else if constexpr (!is_complex(dtype_of<T>)) {
      set_rows<&range_function<Op, T>>(table, dtype);
    }
  });
}

}  // namespace

void fill_compare() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    set<Greater>(greater_kernels, dtype);
    set<GreaterEqual>(ge_kernels, dtype);
    set<Equal>(eq_kernels, dtype);
    set<NotEqual>(ne_kernels, dtype);
    // Unsigned integers of more than 8 bits are only compared.
    if (dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64) continue;
    set<LogicalAnd>(logical_and_kernels, dtype);
    set<LogicalOr>(logical_or_kernels, dtype);
    set<LogicalXor>(logical_xor_kernels, dtype);
    set<LogicalNot>(logical_not_kernels, dtype);
    set<IsFinite>(isfinite_kernels, dtype);
    set<IsInf>(isinf_kernels, dtype);
    if (is_floating(dtype)) set<Inside>(inside_kernels, dtype);
  }
}

}  // namespace ebb::kernels::cpu
