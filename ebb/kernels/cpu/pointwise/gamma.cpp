// ebb/kernels/cpu/pointwise/gamma.cpp -- the logarithm of the gamma function, its derivatives, and
// Hurwitz' zeta function.
//
// lgamma is the C library's, in the form that writes no global. digamma: recurrence up to where the
// asymptotic series (DLMF 5.11.2) holds, reflection below 0 (5.5.4). zeta: Euler and Maclaurin's
// formula (25.11.5); polygamma is n! zeta(n + 1, x) but for its sign (25.11.12).
#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/digamma.h"
#include "ebb/kernels/tables/lgamma.h"
#include "ebb/kernels/tables/polygamma.h"
#include "ebb/kernels/tables/zeta.h"

namespace ebb::kernels::cpu {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
/// The Bernoulli numbers B2, B4, ...
constexpr long double kBernoulli[] = {
    1.0L / 6,       -1.0L / 30,           1.0L / 42,       -1.0L / 30,
    5.0L / 66,      -691.0L / 2730,       7.0L / 6,        -3617.0L / 510,
    43867.0L / 798, -174611.0L / 330,     854513.0L / 138, -236364091.0L / 2730,
    8553103.0L / 6, -23749461029.0L / 870};

template <typename W>
constexpr W kNaN = std::numeric_limits<W>::quiet_NaN();
template <typename W>
constexpr W kInfinity = std::numeric_limits<W>::infinity();

struct Lgamma {
  double operator()(double x) const {
    int sign = 0;
    return ::lgamma_r(x, &sign);
  }
  long double operator()(long double x) const {
    int sign = 0;
    return ::lgammal_r(x, &sign);
  }
};

struct Digamma {
  template <typename W>
  W operator()(W x) const {
    if (x == 0) return std::copysign(kInfinity<W>, -x);
    if (x > 0 || std::isnan(x)) return of_positive(x);
    if (std::isinf(x) || x == std::floor(x)) return kNaN<W>;
    const W turn = std::remainder(x, W(1));
    return of_positive(1 - x) - W(kPi) / std::tan(W(kPi) * turn);
  }

 private:
  template <typename W>
  static W of_positive(W x) {
    W below = 0;
    for (; x < 16; x += 1) below += 1 / x;
    if (std::isinf(x)) return x;
    const W inverse = 1 / (x * x);
    W series = 0;
    for (int k = 11; k >= 0; --k) series = inverse * (W(kBernoulli[k]) / W(2 * k + 2) + series);
    return std::log(x) - W(0.5) / x - series - below;
  }
};

/// Sum of (q + k)^-s over all k >= 0.
struct Zeta {
  template <typename W>
  W operator()(W s, W q) const {
    if (std::isnan(s) || std::isnan(q)) return kNaN<W>;
    if (s == 1) return kInfinity<W>;
    if (s < 1) return kNaN<W>;
    if (q > 0) return of_positive(s, q);
    if (q == std::floor(q)) return kInfinity<W>;
    if (std::isinf(s) || s != std::floor(s)) return kNaN<W>;
    // The terms below 0 are those of two sums over positive numbers.
    const W fraction = -q - std::floor(-q);
    const W below = of_positive(s, fraction) - of_positive(s, 1 - q);
    const bool is_odd = std::fmod(s, W(2)) != 0;
    return of_positive(s, 1 - fraction) + (is_odd ? -below : below);
  }

 private:
  template <typename W>
  static W of_positive(W s, W q) {
    if (std::isinf(q) || std::isinf(s)) return at_infinity(s, q);
    W sum = 0;
    const W last = s + 14;
    while (q < last) {
      const W term = std::pow(q, -s);
      sum += term;
      q += 1;
      if (term <= sum * std::numeric_limits<W>::epsilon() / 256) return sum;
    }
    const W power = std::pow(q, -s);
    sum += power * (q / (s - 1) + W(0.5));
    W factor = s / q;  // s (s + 1) ... (s + 2j - 2) / ((2j)! q^(2j - 1))
    for (int j = 1; j <= 14; ++j) {
      factor /= W(2 * j - 1) * W(2 * j);
      sum += power * W(kBernoulli[j - 1]) * factor;
      factor *= (s + W(2 * j - 1)) * (s + W(2 * j)) / (q * q);
    }
    return sum;
  }
  /// Powers decide: only the first term counts where s is infinite.
  template <typename W>
  static W at_infinity(W s, W q) {
    if (std::isinf(q)) return 0;
    if (q == 1) return 1;
    return q < 1 ? s : W(0);
  }
};

struct Polygamma {
  template <typename W>
  W operator()(W order, W x) const {
    if (order == 0) return Digamma()(x);
    const bool is_even = std::fmod(order, W(2)) == 0;
    const W size = std::tgamma(order + 1) * Zeta()(order + 1, x);
    return is_even ? -size : size;
  }
};

}  // namespace

void fill_gamma() {
  fill_wide<Lgamma>(lgamma_kernels);
  fill_wide<Digamma>(digamma_kernels);
  fill_wide<Zeta>(zeta_kernels);
  fill_wide<Polygamma>(polygamma_kernels);
}

}  // namespace ebb::kernels::cpu
