// ebb/kernels/cpu/pointwise/complex_kinds.cpp -- complex numbers in functions that are mostly used
// with real ones: sinc, silu, logaddexp and lerp.
//
// Computed in long double and rounded once, but for lerp.
#include <cmath>
#include <complex>
#include <utility>

#include "ebb/kernels/cpu/simd/plain_rows.h"
#include "ebb/kernels/tables/lerp.h"
#include "ebb/kernels/tables/logaddexp.h"
#include "ebb/kernels/tables/silu.h"
#include "ebb/kernels/tables/silu_backward.h"
#include "ebb/kernels/tables/sinc.h"
#include "ebb/kernels/tables/sinc_slope.h"

namespace ebb::kernels::cpu {
namespace {

using Wide = std::complex<long double>;
constexpr long double kPi = 3.14159265358979323846264338327950288L;

template <typename T>
Wide widened(T x) {
  return {x.real(), x.imag()};
}

/// pi x less a multiple of 2 pi, which neither the sine nor the cosine of it sees.
Wide half_turns(Wide x) { return {kPi * std::remainder(x.real(), 2.0L), kPi * x.imag()}; }

struct Sinc {
  template <typename T>
  T operator()(T x) const {
    return T(of(widened(x)));
  }
  static Wide of(Wide x) { return x == 0.0L ? 1.0L : std::sin(half_turns(x)) / (kPi * x); }
};
struct SincSlope {
  template <typename T>
  T operator()(T x) const {
    const Wide wide = widened(x);
    if (std::norm(wide) < 0.25L) return T(near_zero(wide));
    return T((std::cos(half_turns(wide)) - Sinc::of(wide)) / wide);
  }

 private:
  /// The sum of (-1)^k 2k pi^2k x^(2k - 1) / (2k + 1)!, from its smallest term.
  static Wide near_zero(Wide x) {
    const Wide square = -kPi * kPi * x * x;
    Wide sum = 0;
    for (int k = 16; k >= 1; --k) {
      const long double share = 1.0L / ((2 * k) * (2 * k + 1));
      sum = square * share * (static_cast<long double>(2 * k) + sum);
    }
    return x == 0.0L ? x : sum / x;
  }
};

/// 1 / (1 + exp(-x)); of the exponential that does not overflow.
Wide logistic(Wide x) {
  if (x.real() >= 0) return 1.0L / (1.0L + std::exp(-x));
  const Wide grown = std::exp(x);
  return grown / (1.0L + grown);
}
struct Silu {
  template <typename T>
  T operator()(T x) const {
    const Wide wide = widened(x);
    return T(wide * logistic(wide));
  }
};
struct SiluBackward {
  template <typename T>
  T operator()(T grad, T x) const {
    if (grad == T(0)) return T(0);  // what has no share stays so, also beside infinities
    const Wide wide = widened(x);
    const Wide share = logistic(wide);
    return T(widened(grad) * std::conj(share * (1.0L + wide * (1.0L - share))));
  }
};

struct Logaddexp {
  template <typename T>
  T operator()(T lhs, T rhs) const {
    Wide high = widened(lhs);
    Wide low = widened(rhs);
    if (low.real() > high.real()) std::swap(high, low);
    if (std::isinf(high.real()) && high.real() < 0) return T(high);
    const Wide sum = high + log_of_one_and(std::exp(low - high));
    return T(Wide(sum.real(), std::remainder(sum.imag(), 2 * kPi)));  // as logarithms have it
  }

 private:
  static Wide log_of_one_and(Wide x) {
    const long double re = x.real();
    const long double im = x.imag();
    return {std::log1p(re * (2 + re) + im * im) / 2, std::atan2(im, 1 + re)};
  }
};

/// From the nearer end, as real numbers.
struct Lerp {
  template <typename T>
  T operator()(T start, T end, T weight) const {
    const T way = end - start;
    const T one(1);
    return std::abs(weight) < 0.5 ? start + weight * way : end - way * (one - weight);
  }
};

}  // namespace

void fill_complex_kinds() {
  set_complex<Sinc>(sinc_kernels);
  set_complex<SincSlope>(sinc_slope_kernels);
  set_complex<Silu>(silu_kernels);
  set_complex<SiluBackward>(silu_backward_kernels);
  set_complex<Logaddexp>(logaddexp_kernels);
  set_complex<Lerp>(lerp_kernels);
}

}  // namespace ebb::kernels::cpu
