// ebb/kernels/cpu/compare.cpp -- greater and eq: two operands of any type, a bool out.
//
// The comparison itself is one instruction, so the loops are left to the compiler. Half types are
// compared as float32, element by element.
#include <complex>
#include <type_traits>

#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

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

template <class Op, typename T>
void compare_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  auto* to = static_cast<bool*>(out);
  if (splat == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(comparable(lhs[i]), comparable(rhs[i]));
  } else if (splat == 1) {
    const auto value = comparable(*lhs);
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(value, comparable(rhs[i]));
  } else {
    const auto value = comparable(*rhs);
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(comparable(lhs[i]), value);
  }
}

template <class Op>
void set(KernelTable<BinaryKernel>& table, DType dtype) {
  visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<Op, Equal> || !is_complex(dtype_of<T>)) {
      set_rows<&compare_function<Op, T>>(table, dtype);
    }
  });
}

}  // namespace

void fill_compare() {
  for (int i = 0; i < kDTypeCount; ++i) {
    set<Greater>(greater_kernels, static_cast<DType>(i));
    set<Equal>(eq_kernels, static_cast<DType>(i));
  }
}

}  // namespace ebb::kernels::cpu
