// ebb/kernels/cpu/pointwise_plain.cpp -- element-wise ops on integers, bool and complex numbers.
//
// Simple loops, compiled once: the compiler vectorises the integer ones, and complex functions take
// their time per element anyway. Signed and unsigned integers of one width share their sums and
// products; both wrap around, as in NumPy. Sums of bool are `or`, products `and`.
#include <complex>
#include <type_traits>

#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
inline constexpr bool is_complex_type = !std::is_arithmetic_v<T>;

struct Add {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    return static_cast<T>(lhs + rhs);
  }
  bool operator()(bool lhs, bool rhs) const { return lhs | rhs; }
};
struct Sub {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    return static_cast<T>(lhs - rhs);
  }
};
struct Mul {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    if constexpr (is_complex_type<T>) {
      // Written out: std::complex would call a function that looks for lost infinities.
      return {lhs.real() * rhs.real() - lhs.imag() * rhs.imag(),
              lhs.real() * rhs.imag() + lhs.imag() * rhs.real()};
    } else {
      // Widened to unsigned: small types promote to int, whose product could overflow.
      return static_cast<T>(static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs));
    }
  }
  bool operator()(bool lhs, bool rhs) const { return lhs & rhs; }
};
struct Div {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    return lhs / rhs;
  }
};
struct ReluBackward {
  template <typename T>
  T operator()(T grad_out, T out) const {
    return out > T{0} ? grad_out : T{0};
  }
};
struct TanhBackward {
  template <typename T>
  T operator()(T grad_out, T out) const {
    return Mul()(grad_out, std::conj(T{1} - Mul()(out, out)));
  }
};

struct Neg {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(-x);
  }
};
struct Relu {
  template <typename T>
  T operator()(T x) const {
    return x > T{0} ? x : T{0};
  }
};
struct Sqrt {
  template <typename T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Exp {
  template <typename T>
  T operator()(T x) const {
    return std::exp(x);
  }
};
struct Log {
  template <typename T>
  T operator()(T x) const {
    return std::log(x);
  }
};
struct Tanh {
  template <typename T>
  T operator()(T x) const {
    return std::tanh(x);
  }
};
struct Conj {
  template <typename T>
  T operator()(T x) const {
    return std::conj(x);
  }
};

template <class Op, typename T>
void unary_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const T*>(in[0]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = Op()(from[i]);
}

template <class Op, typename T>
void binary_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* lhs = static_cast<const T*>(in[0]);
  const auto* rhs = static_cast<const T*>(in[1]);
  auto* to = static_cast<T*>(out);
  if (splat == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(lhs[i], rhs[i]);
  } else if (splat == 1) {
    const T value = *lhs;
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(value, rhs[i]);
  } else {
    const T value = *rhs;
    for (int64_t i = 0; i < count; ++i) to[i] = Op()(lhs[i], value);
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

}  // namespace

void fill_pointwise_plain() {
  set<Add, bool>(add_kernels);
  set<Mul, bool>(mul_kernels);
  set_integers<Add>(add_kernels);
  set_integers<Sub>(sub_kernels);
  set_integers<Mul>(mul_kernels);
  set_integers<Neg>(neg_kernels);
  set_signed_integers<Relu>(relu_kernels);
  set_signed_integers<ReluBackward>(relu_backward_kernels);
  set_complex<Add>(add_kernels);
  set_complex<Sub>(sub_kernels);
  set_complex<Mul>(mul_kernels);
  set_complex<Div>(div_kernels);
  set_complex<Neg>(neg_kernels);
  set_complex<Exp>(exp_kernels);
  set_complex<Sqrt>(sqrt_kernels);
  set_complex<Log>(log_kernels);
  set_complex<Tanh>(tanh_kernels);
  set_complex<Conj>(conj_kernels);
  set_complex<TanhBackward>(tanh_backward_kernels);
}

}  // namespace ebb::kernels::cpu
