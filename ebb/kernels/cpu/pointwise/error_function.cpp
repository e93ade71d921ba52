// ebb/kernels/cpu/pointwise/error_function.cpp -- the error function's inverse, its scaled
// complement, the normal distribution; and logit, entr, xlogy, sinc.
//
// Formulas are those of DLMF 7 in the wider type of wide_rows.h. Inverses are found by Halley's
// method from Winitzki's approximation (2008), which is good to 2 parts in 1000.
#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/entr.h"
#include "ebb/kernels/tables/erfcx.h"
#include "ebb/kernels/tables/erfcx_slope.h"
#include "ebb/kernels/tables/erfinv.h"
#include "ebb/kernels/tables/log_ndtr.h"
#include "ebb/kernels/tables/logit.h"
#include "ebb/kernels/tables/ndtr.h"
#include "ebb/kernels/tables/ndtri.h"
#include "ebb/kernels/tables/sinc.h"
#include "ebb/kernels/tables/sinc_slope.h"
#include "ebb/kernels/tables/xlog1py.h"
#include "ebb/kernels/tables/xlogy.h"

namespace ebb::kernels::cpu {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kSqrtPi = 1.77245385090551602729816748334114518L;
constexpr long double kSqrtHalf = 0.707106781186547524400844362104849039L;

template <typename W>
constexpr W kNaN = std::numeric_limits<W>::quiet_NaN();
template <typename W>
constexpr W kInfinity = std::numeric_limits<W>::infinity();

/// exp(x^2) erfc(x); from 25 on by DLMF 7.12.1, whose terms are below 1e-20 there.
struct Erfcx {
  template <typename W>
  W operator()(W x) const {
    if (!(x > 25)) return std::exp(x * x) * std::erfc(x);
    const W step = 1 / (2 * x * x);
    W sum = 1;
    for (int k = 15; k > 0; k -= 2) sum = 1 - W(k) * step * sum;
    return sum / (x * W(kSqrtPi));
  }
};

/// The derivative, 2 x erfcx(x) - 2 / sqrt(pi), by the same series where its terms cancel.
struct ErfcxSlope {
  template <typename W>
  W operator()(W x) const {
    if (std::isinf(x)) return x > 0 ? W(0) : -kInfinity<W>;
    if (!(x > 25)) return 2 * (x * Erfcx()(x) - 1 / W(kSqrtPi));
    const W step = 1 / (2 * x * x);
    W sum = 1;
    for (int k = 15; k > 1; k -= 2) sum = 1 - W(k) * step * sum;
    return -2 * step * sum / W(kSqrtPi);
  }
};

/// Winitzki's approximation of the inverse of erfc at q in (0, 1].
template <typename W>
W guess_inverse(W q) {
  constexpr double kA = 0.147;
  const W log_part = std::log(q * (2 - q));
  const W half = W(2 / (3.14159265358979 * kA)) + log_part / 2;
  return std::sqrt(std::sqrt(half * half - log_part / W(kA)) - half);
}

/// Where a step of Halley's method goes from y, if the function is `excess` too large there.
template <typename W>
W halley_step(W y, W excess) {
  const W ratio = excess * W(kSqrtPi / 2) * std::exp(y * y);
  return ratio / (1 - ratio * y);
}

/// y with erfc(y) = q, for q in (0, 1].
template <typename W>
W inverse_of_erfc(W q) {
  W y = guess_inverse(q);
  for (int i = 0; i < 12; ++i) {
    const W step = halley_step(y, std::erfc(y) - q);
    y += step;
    if (std::abs(step) < std::cbrt(std::numeric_limits<W>::epsilon()) * std::abs(y)) break;
  }
  return y;
}

struct Erfinv {
  template <typename W>
  W operator()(W x) const {
    const W size = std::abs(x);
    if (!(size < 1)) return size == 1 ? std::copysign(kInfinity<W>, x) : kNaN<W>;
    if (size > W(0.5)) return std::copysign(inverse_of_erfc(1 - size), x);
    if (size < W(1e-9)) return x * W(kSqrtPi / 2);
    W y = guess_inverse(1 - size);
    for (int i = 0; i < 3; ++i) y += halley_step(y, size - std::erf(y));
    return std::copysign(y, x);
  }
};

struct Ndtr {
  template <typename W>
  W operator()(W x) const {
    return std::erfc(-x * W(kSqrtHalf)) / 2;
  }
};
struct LogNdtr {
  template <typename W>
  W operator()(W x) const {
    if (x < -1) return std::log(Erfcx()(-x * W(kSqrtHalf)) / 2) - x * x / 2;
    return std::log1p(-std::erfc(x * W(kSqrtHalf)) / 2);
  }
};
struct Ndtri {
  template <typename W>
  W operator()(W p) const {
    if (!(p >= 0 && p <= 1)) return kNaN<W>;
    if (p == 0 || p == 1) return p == 0 ? -kInfinity<W> : kInfinity<W>;
    if (p < W(0.25)) return -inverse_of_erfc(2 * p) / W(kSqrtHalf);
    if (p > W(0.75)) return inverse_of_erfc(2 * (1 - p)) / W(kSqrtHalf);
    return Erfinv()(2 * p - 1) / W(kSqrtHalf);
  }
};

struct Logit {
  template <typename W>
  W operator()(W x) const {
    if (x > W(0.25) && x < W(0.75)) return std::log1p((2 * x - 1) / (1 - x));
    return std::log(x / (1 - x));
  }
};
struct Entr {
  template <typename W>
  W operator()(W x) const {
    if (x == 0) return 0;
    return x < 0 ? -kInfinity<W> : -x * std::log(x);
  }
};
struct Xlogy {
  template <typename W>
  W operator()(W x, W y) const {
    if (std::isnan(y)) return y;
    return x == 0 ? W(0) : x * std::log(y);
  }
};
struct Xlog1py {
  template <typename W>
  W operator()(W x, W y) const {
    if (std::isnan(y)) return y;
    return x == 0 ? W(0) : x * std::log1p(y);
  }
};

/// sin(pi x) / (pi x): the angle is reduced before pi comes in, without rounding.
struct Sinc {
  template <typename W>
  W operator()(W x) const {
    if (x == 0) return 1;
    W turn = std::remainder(x, W(2));
    if (std::abs(turn) > W(0.5)) turn = std::copysign(1 - std::abs(turn), turn);
    return std::sin(W(kPi) * turn) / (W(kPi) * x);
  }
};

/// The derivative of sinc: sums of its series (DLMF 4.19.1) where the closed form cancels.
struct SincSlope {
  template <typename W>
  W operator()(W x) const {
    if (std::abs(x) > W(0.5)) return (std::cos(W(kPi) * std::remainder(x, W(2))) - Sinc()(x)) / x;
    const W square = W(kPi) * W(kPi) * x * x;
    W series = 0;
    for (int k = 12; k >= 1; --k) {
      series = W(2 * k) - square / (W(2 * k + 2) * W(2 * k + 3)) * series;
    }
    return -series * W(kPi) * W(kPi) * x / 6;
  }
};

}  // namespace

void fill_error_function() {
  fill_wide<Erfinv>(erfinv_kernels);
  fill_wide<Erfcx>(erfcx_kernels);
  fill_wide<ErfcxSlope>(erfcx_slope_kernels);
  fill_wide<Ndtr>(ndtr_kernels);
  fill_wide<LogNdtr>(log_ndtr_kernels);
  fill_wide<Ndtri>(ndtri_kernels);
  fill_wide<Logit>(logit_kernels);
  fill_wide<Entr>(entr_kernels);
  fill_wide<Xlogy>(xlogy_kernels);
  fill_wide<Xlog1py>(xlog1py_kernels);
  fill_wide<Sinc>(sinc_kernels);
  fill_wide<SincSlope>(sinc_slope_kernels);
}

}  // namespace ebb::kernels::cpu
