// ebb/kernels/cpu/pointwise/complex_math.cpp -- inverse trigonometric and hyperbolic functions,
// exponentials and logarithms of complex numbers.
//
// Computed in long double and rounded once. On branch cuts the sign of a zero decides, as C says.
#include <cmath>
#include <complex>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/acos.h"
#include "ebb/kernels/tables/acosh.h"
#include "ebb/kernels/tables/asin.h"
#include "ebb/kernels/tables/asinh.h"
#include "ebb/kernels/tables/atan.h"
#include "ebb/kernels/tables/atanh.h"
#include "ebb/kernels/tables/exp2.h"
#include "ebb/kernels/tables/expm1.h"
#include "ebb/kernels/tables/log10.h"
#include "ebb/kernels/tables/log1p.h"
#include "ebb/kernels/tables/log2.h"

namespace ebb::kernels::cpu {
namespace {

using Wide = std::complex<long double>;
constexpr long double kLn2 = 0.693147180559945309417232121458176568L;

template <typename T>
Wide widened(T x) {
  return {x.real(), x.imag()};
}
template <typename T>
T narrowed(Wide x) {
  return T(x);
}

struct Asin {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::asin(widened(x)));
  }
};
struct Acos {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::acos(widened(x)));
  }
};
struct Atan {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::atan(widened(x)));
  }
};
struct Asinh {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::asinh(widened(x)));
  }
};
struct Acosh {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::acosh(widened(x)));
  }
};
struct Atanh {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::atanh(widened(x)));
  }
};
struct Log10 {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::log10(widened(x)));
  }
};
struct Exp2 {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::exp(widened(x) * kLn2));
  }
};
struct Log2 {
  template <typename T>
  T operator()(T x) const {
    return narrowed<T>(std::log(widened(x)) / kLn2);
  }
};
/// Without loss where both parts are small: cos(y) - 1 is -2 sin(y / 2)^2.
struct Expm1 {
  template <typename T>
  T operator()(T x) const {
    const Wide wide = widened(x);
    const long double half = std::sin(wide.imag() / 2);
    const long double grown = std::expm1(wide.real());
    const long double turned = std::sin(wide.imag()) * (grown + 1);
    return narrowed<T>({grown * std::cos(wide.imag()) - 2 * half * half, turned});
  }
};
/// The logarithm of |1 + x| without loss where x is small.
struct Log1p {
  template <typename T>
  T operator()(T x) const {
    const Wide wide = widened(x);
    const long double re = wide.real();
    const long double im = wide.imag();
    if (std::abs(re) > 0.5L || std::abs(im) > 0.5L) return narrowed<T>(std::log(1.0L + wide));
    return narrowed<T>({std::log1p(re * (2 + re) + im * im) / 2, std::atan2(im, 1 + re)});
  }
};

}  // namespace

void fill_complex_math() {
  set_complex<Asin>(asin_kernels);
  set_complex<Acos>(acos_kernels);
  set_complex<Atan>(atan_kernels);
  set_complex<Asinh>(asinh_kernels);
  set_complex<Acosh>(acosh_kernels);
  set_complex<Atanh>(atanh_kernels);
  set_complex<Log10>(log10_kernels);
  set_complex<Exp2>(exp2_kernels);
  set_complex<Log2>(log2_kernels);
  set_complex<Expm1>(expm1_kernels);
  set_complex<Log1p>(log1p_kernels);
}

}  // namespace ebb::kernels::cpu
