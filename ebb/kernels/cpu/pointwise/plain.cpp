// ebb/kernels/cpu/pointwise/plain.cpp -- element-wise ops on integers, bool and complex numbers.
//
// Simple loops, compiled once: the compiler vectorises the integer ones, and complex functions take
// their time per element anyway. Signed and unsigned integers of one width share their sums and
// products; both wrap around, as in NumPy. Sums of bool are `or`, products `and`.
#include <complex>
#include <type_traits>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/add.h"
#include "ebb/kernels/tables/conj.h"
#include "ebb/kernels/tables/cos.h"
#include "ebb/kernels/tables/cosh.h"
#include "ebb/kernels/tables/div.h"
#include "ebb/kernels/tables/exp.h"
#include "ebb/kernels/tables/log.h"
#include "ebb/kernels/tables/mul.h"
#include "ebb/kernels/tables/mul0.h"
#include "ebb/kernels/tables/neg.h"
#include "ebb/kernels/tables/pow.h"
#include "ebb/kernels/tables/reciprocal.h"
#include "ebb/kernels/tables/relu.h"
#include "ebb/kernels/tables/relu_backward.h"
#include "ebb/kernels/tables/rsqrt.h"
#include "ebb/kernels/tables/sigmoid.h"
#include "ebb/kernels/tables/sigmoid_backward.h"
#include "ebb/kernels/tables/sin.h"
#include "ebb/kernels/tables/sinh.h"
#include "ebb/kernels/tables/sqrt.h"
#include "ebb/kernels/tables/square.h"
#include "ebb/kernels/tables/sub.h"
#include "ebb/kernels/tables/tan.h"
#include "ebb/kernels/tables/tanh.h"
#include "ebb/kernels/tables/tanh_backward.h"

namespace ebb::kernels::cpu {
namespace {

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
struct Mul0 {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    return lhs == T{} ? lhs : Mul()(lhs, rhs);
  }
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
    return Mul0()(grad_out, std::conj(T{1} - Mul()(out, out)));
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
struct Sin {
  template <typename T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
struct Cos {
  template <typename T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
struct Tan {
  template <typename T>
  T operator()(T x) const {
    return std::tan(x);
  }
};
struct Sinh {
  template <typename T>
  T operator()(T x) const {
    return std::sinh(x);
  }
};
struct Cosh {
  template <typename T>
  T operator()(T x) const {
    return std::cosh(x);
  }
};
struct Square {
  template <typename T>
  T operator()(T x) const {
    return Mul()(x, x);
  }
};
struct Reciprocal {
  template <typename T>
  T operator()(T x) const {
    return T{1} / x;
  }
};
struct Rsqrt {
  template <typename T>
  T operator()(T x) const {
    return T{1} / std::sqrt(x);
  }
};
struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    return T{1} / (T{1} + std::exp(-x));
  }
};
struct SigmoidBackward {
  template <typename T>
  T operator()(T grad, T out) const {
    return Mul0()(grad, std::conj(Mul()(out, T{1} - out)));
  }
};
/// Small whole powers are products: exp(y log x) is less exact.
struct Pow {
  template <typename T>
  T operator()(T x, T exponent) const {
    if (exponent == T{0}) return T{1};
    if (exponent == T{1}) return x;
    if (exponent == T{2}) return Mul()(x, x);
    if (exponent == T{3}) return Mul()(Mul()(x, x), x);
    if (exponent == T{-1}) return T{1} / x;
    return std::pow(x, exponent);
  }
};
struct Conj {
  template <typename T>
  T operator()(T x) const {
    return std::conj(x);
  }
};

}  // namespace

void fill_plain() {
  set<Add, bool>(add_kernels);
  set<Mul, bool>(mul_kernels);
  set<Mul0, bool>(mul0_kernels);
  set_integers<Add>(add_kernels);
  set_integers<Sub>(sub_kernels);
  set_integers<Mul>(mul_kernels);
  set_integers<Mul0>(mul0_kernels);
  set_integers<Neg>(neg_kernels);
  set_signed_integers<Relu>(relu_kernels);
  set_signed_integers<ReluBackward>(relu_backward_kernels);
  set_complex<Add>(add_kernels);
  set_complex<Sub>(sub_kernels);
  set_complex<Mul>(mul_kernels);
  set_complex<Mul0>(mul0_kernels);
  set_complex<Div>(div_kernels);
  set_complex<Neg>(neg_kernels);
  set_complex<Exp>(exp_kernels);
  set_complex<Sqrt>(sqrt_kernels);
  set_complex<Log>(log_kernels);
  set_complex<Tanh>(tanh_kernels);
  set_complex<Conj>(conj_kernels);
  set_complex<TanhBackward>(tanh_backward_kernels);
  set_integers<Square>(square_kernels);
  set_complex<Square>(square_kernels);
  set_complex<Reciprocal>(reciprocal_kernels);
  set_complex<Rsqrt>(rsqrt_kernels);
  set_complex<Sin>(sin_kernels);
  set_complex<Cos>(cos_kernels);
  set_complex<Tan>(tan_kernels);
  set_complex<Sinh>(sinh_kernels);
  set_complex<Cosh>(cosh_kernels);
  set_complex<Sigmoid>(sigmoid_kernels);
  set_complex<SigmoidBackward>(sigmoid_backward_kernels);
  set_complex<Pow>(pow_kernels);
}

}  // namespace ebb::kernels::cpu
