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

/// Enters a function of Wide.
template <class Op>
void set_wide(KernelTable<UnaryKernel>& table, Op) {
  set_complex(table, []<typename T>(T x) { return narrowed<T>(Op()(widened(x))); });
}

}  // namespace

void fill_complex_math() {
  set_wide(asin_kernels, [](Wide x) { return std::asin(x); });
  set_wide(acos_kernels, [](Wide x) { return std::acos(x); });
  set_wide(atan_kernels, [](Wide x) { return std::atan(x); });
  set_wide(asinh_kernels, [](Wide x) { return std::asinh(x); });
  set_wide(acosh_kernels, [](Wide x) { return std::acosh(x); });
  set_wide(atanh_kernels, [](Wide x) { return std::atanh(x); });
  set_wide(log10_kernels, [](Wide x) { return std::log10(x); });
  set_wide(exp2_kernels, [](Wide x) { return std::exp(x * kLn2); });
  set_wide(log2_kernels, [](Wide x) { return std::log(x) / kLn2; });
  set_complex<Expm1>(expm1_kernels);
  set_complex<Log1p>(log1p_kernels);
}

}  // namespace ebb::kernels::cpu
