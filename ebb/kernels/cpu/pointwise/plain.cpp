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
#include "ebb/kernels/tables/div0.h"
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
  auto operator()(T lhs, T rhs) const {
    return lhs + rhs;
  }
  bool operator()(bool lhs, bool rhs) const { return lhs | rhs; }
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

void fill_sums() {
  constexpr auto sub = [](auto lhs, auto rhs) { return lhs - rhs; };
  constexpr auto neg = [](auto x) { return -x; };
  constexpr auto square = [](auto x) { return Mul()(x, x); };
  set<Add, bool>(add_kernels);
  set<Mul, bool>(mul_kernels);
  set<Mul0, bool>(mul0_kernels);
  set_integers<Add>(add_kernels);
  set_integers<Mul>(mul_kernels);
  set_integers<Mul0>(mul0_kernels);
  set_integers(sub_kernels, sub);
  set_integers(neg_kernels, neg);
  set_integers(square_kernels, square);
  set_complex<Add>(add_kernels);
  set_complex<Mul>(mul_kernels);
  set_complex<Mul0>(mul0_kernels);
  set_complex(sub_kernels, sub);
  set_complex(neg_kernels, neg);
  set_complex(square_kernels, square);
  set_complex(div_kernels, [](auto lhs, auto rhs) { return lhs / rhs; });
  set_complex(div0_kernels, []<typename T>(T lhs, T rhs) { return lhs == T{} ? lhs : lhs / rhs; });
}

}  // namespace

void fill_plain() {
  fill_sums();
  set_signed_integers(relu_kernels, []<typename T>(T x) { return x > T{0} ? x : T{0}; });
  set_signed_integers(relu_backward_kernels,
                      []<typename T>(T grad_out, T out) { return out > T{0} ? grad_out : T{0}; });
  set_complex(exp_kernels, [](auto x) { return std::exp(x); });
  set_complex(sqrt_kernels, [](auto x) { return std::sqrt(x); });
  set_complex(log_kernels, [](auto x) { return std::log(x); });
  set_complex(tanh_kernels, [](auto x) { return std::tanh(x); });
  set_complex(conj_kernels, [](auto x) { return std::conj(x); });
  set_complex(tanh_backward_kernels, []<typename T>(T grad_out, T out) {
    return Mul0()(grad_out, std::conj(T{1} - Mul()(out, out)));
  });
  set_complex(reciprocal_kernels, []<typename T>(T x) { return T{1} / x; });
  set_complex(rsqrt_kernels, []<typename T>(T x) { return T{1} / std::sqrt(x); });
  set_complex(sin_kernels, [](auto x) { return std::sin(x); });
  set_complex(cos_kernels, [](auto x) { return std::cos(x); });
  set_complex(tan_kernels, [](auto x) { return std::tan(x); });
  set_complex(sinh_kernels, [](auto x) { return std::sinh(x); });
  set_complex(cosh_kernels, [](auto x) { return std::cosh(x); });
  set_complex(sigmoid_kernels, []<typename T>(T x) { return T{1} / (T{1} + std::exp(-x)); });
  set_complex(sigmoid_backward_kernels, []<typename T>(T grad_out, T out) {
    return Mul0()(grad_out, std::conj(Mul()(out, T{1} - out)));
  });
  set_complex<Pow>(pow_kernels);
}

}  // namespace ebb::kernels::cpu
