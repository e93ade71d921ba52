// ebb/kernels/cpu/pointwise/bessel.cpp -- Bessel functions of order 0 and 1.
//
// J and Y are the C library's. I: the power series up to 30 (DLMF 10.25.2), beyond it Hankel's
// expansion (10.40.1). K: series up to 2 (10.31.1-2), beyond it the integral 10.32.9 by the
// trapezoidal rule, which converges like exp(-48) here. All in the wider type of wide_rows.h.
#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/bessel_j0.h"
#include "ebb/kernels/tables/bessel_j1.h"
#include "ebb/kernels/tables/bessel_y0.h"
#include "ebb/kernels/tables/bessel_y1.h"
#include "ebb/kernels/tables/i0.h"
#include "ebb/kernels/tables/i0e.h"
#include "ebb/kernels/tables/i1.h"
#include "ebb/kernels/tables/i1e.h"
#include "ebb/kernels/tables/modified_bessel_k0.h"
#include "ebb/kernels/tables/modified_bessel_k1.h"
#include "ebb/kernels/tables/scaled_modified_bessel_k0.h"
#include "ebb/kernels/tables/scaled_modified_bessel_k1.h"
#include "ebb/kernels/tables/spherical_bessel_j0.h"

namespace ebb::kernels::cpu {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kEuler = 0.577215664901532860606512090082402431L;

template <typename W>
constexpr W kNaN = std::numeric_limits<W>::quiet_NaN();
template <typename W>
constexpr W kInfinity = std::numeric_limits<W>::infinity();

struct J0 {
  double operator()(double x) const { return ::j0(x); }
  long double operator()(long double x) const { return ::j0l(x); }
};
struct J1 {
  double operator()(double x) const { return ::j1(x); }
  long double operator()(long double x) const { return ::j1l(x); }
};
/// Of negative numbers NaN; the library may say -infinity.
struct Y0 {
  double operator()(double x) const { return x < 0 ? kNaN<double> : ::y0(x); }
  long double operator()(long double x) const { return x < 0 ? kNaN<long double> : ::y0l(x); }
};
struct Y1 {
  double operator()(double x) const { return x < 0 ? kNaN<double> : ::y1(x); }
  long double operator()(long double x) const { return x < 0 ? kNaN<long double> : ::y1l(x); }
};
struct SphericalJ0 {
  template <typename W>
  W operator()(W x) const {
    if (x == 0) return 1;
    return std::isinf(x) ? W(0) : std::sin(x) / x;
  }
};

/// The power series of I of an order, for sizes up to 30.
template <int order, typename W>
W series_of_i(W x) {
  const W square = x * x / 4;
  if (std::isnan(x)) return x;
  W term = order == 0 ? W(1) : x / 2;
  W sum = 0;
  for (int k = 1; std::abs(term) > std::abs(sum) * std::numeric_limits<W>::epsilon() / 4; ++k) {
    sum += term;
    term *= square / (W(k) * W(k + order));
  }
  return sum;
}

/// exp(-x) times I of an order, for x above 30.
template <int order, typename W>
W expansion_of_i(W x) {
  W term = 1;
  W sum = 0;
  for (int k = 1; std::abs(term) > std::numeric_limits<W>::epsilon() / 8; ++k) {
    sum += term;
    term *= (W(2 * k - 1) * W(2 * k - 1) - 4 * order) / (8 * W(k) * x);
  }
  return sum / std::sqrt(2 * W(kPi) * x);
}

template <int order>
struct I {
  template <typename W>
  W operator()(W x) const {
    const W size = std::abs(x);
    if (!(size > 30)) return series_of_i<order>(x);
    const W result = std::isinf(size)
                         ? size
                         : std::exp(size / 2) * expansion_of_i<order>(size) * std::exp(size / 2);
    return order == 0 ? result : std::copysign(result, x);
  }
};
template <int order>
struct ScaledI {
  template <typename W>
  W operator()(W x) const {
    const W size = std::abs(x);
    if (!(size > 30)) return std::exp(-size) * series_of_i<order>(x);
    const W result = expansion_of_i<order>(size);
    return order == 0 ? result : std::copysign(result, x);
  }
};

/// K of an order for x up to 2.
template <int order, typename W>
W series_of_k(W x) {
  const W square = x * x / 4;
  W term = order == 0 ? W(1) : x / 4;
  W digammas = order == 0 ? -W(kEuler) : 1 - 2 * W(kEuler);  // psi(1); psi(1) + psi(2)
  W sum = 0;
  for (int k = 1; k < 30; ++k) {
    sum += term * digammas;
    term *= square / (W(k) * W(k + order));
    digammas += order == 0 ? 1 / W(k) : 1 / W(k) + 1 / W(k + 1);
  }
  const W log_part = std::log(x / 2) * series_of_i<order>(x);
  return order == 0 ? sum - log_part : 1 / x + log_part - sum;
}

/// exp(x) times K of an order, for x above 2.
template <int order, typename W>
W integral_of_k(W x) {
  const W step = std::min(W(0.19), W(0.5) / std::sqrt(x));
  W sum = W(0.5);
  for (int k = 1; k < 64; ++k) {
    const W at = step * W(k);
    const W half = std::sinh(at / 2);
    const W power = std::exp(-2 * x * half * half);
    const W term = order == 0 ? power : power * std::cosh(at);
    sum += term;
    if (term < std::numeric_limits<W>::epsilon() / 64) break;
  }
  return sum * step;
}

template <int order, bool is_scaled>
struct K {
  template <typename W>
  W operator()(W x) const {
    if (!(x > 0)) return x == 0 ? kInfinity<W> : kNaN<W>;
    if (std::isinf(x)) return 0;
    if (x <= 2) return series_of_k<order>(x) * (is_scaled ? std::exp(x) : W(1));
    return integral_of_k<order>(x) * (is_scaled ? W(1) : std::exp(-x));
  }
};

}  // namespace

void fill_bessel() {
  fill_wide<J0>(bessel_j0_kernels);
  fill_wide<J1>(bessel_j1_kernels);
  fill_wide<Y0>(bessel_y0_kernels);
  fill_wide<Y1>(bessel_y1_kernels);
  fill_wide<SphericalJ0>(spherical_bessel_j0_kernels);
  fill_wide<I<0>>(i0_kernels);
  fill_wide<I<1>>(i1_kernels);
  fill_wide<ScaledI<0>>(i0e_kernels);
  fill_wide<ScaledI<1>>(i1e_kernels);
  fill_wide<K<0, false>>(modified_bessel_k0_kernels);
  fill_wide<K<1, false>>(modified_bessel_k1_kernels);
  fill_wide<K<0, true>>(scaled_modified_bessel_k0_kernels);
  fill_wide<K<1, true>>(scaled_modified_bessel_k1_kernels);
}

}  // namespace ebb::kernels::cpu
