// ebb/kernels/cpu/pointwise/igamma.cpp -- the two shares of the gamma function's
// integral, below and above a number.
//
// The smaller share is computed, the other is what it leaves of 1. Below: a power series (DLMF
// 8.11.4). Above: a continued fraction (8.9.2), or for small operands a series without cancellation
// (8.7.3). Where both are large and near each other, Temme's expansion (8.12.3 and on), whose
// coefficients are computed once. Start reading at shares_of().
#include "ebb/kernels/tables/igamma.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/igamma_slope.h"
#include "ebb/kernels/tables/igammac.h"

namespace ebb::kernels::cpu {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kEuler = 0.57721566490153286060651209008240243L;
constexpr int kMostTerms = 1000;  // none of the series below needs half of it

template <typename W>
constexpr W kNaN = std::numeric_limits<W>::quiet_NaN();
template <typename W>
constexpr W kInfinity = std::numeric_limits<W>::infinity();
template <typename W>
constexpr W kEpsilon = std::numeric_limits<W>::epsilon();

/// Coefficients b_j of Stirling's series, log(gamma) = ... + sum of b_j / a^(2j - 1), DLMF 5.11.1.
constexpr long double kStirling[] = {
    1.0L / 12,        -1.0L / 360, 1.0L / 1260,       -1.0L / 1680,      1.0L / 1188,
    -691.0L / 360360, 1.0L / 156,  -3617.0L / 122400, 43867.0L / 244188, -174611.0L / 125400,
};

/// Zeta(k) - 1 for k from 2 on, by terms and what Euler and Maclaurin have for the others.
struct ZetaTable {
  static constexpr int kCount = 40;
  std::array<long double, kCount> less_one{};

  ZetaTable() {
    constexpr long double kLast = 20;
    for (int i = 0; i < kCount; ++i) {
      const long double s = i + 2;
      const long double power = std::pow(kLast, -s);
      long double factor = s / kLast;
      long double sum = power * (kLast / (s - 1) + 0.5L);
      for (int j = 1; j <= 8; ++j) {  // b_j (2j - 1)! is B_2j / (2j)! but for a factor
        sum += power * kStirling[j - 1] * (2 * j) * (2 * j - 1) / factorial(2 * j) * factor;
        factor *= (s + (2 * j - 1)) * (s + 2 * j) / (kLast * kLast);
      }
      for (int n = 19; n >= 2; --n) sum += std::pow(static_cast<long double>(n), -s);
      less_one[i] = sum;
    }
  }

 private:
  static long double factorial(int n) { return n < 2 ? 1.0L : std::tgamma(n + 1.0L); }
};

/// Logarithm of gamma(1 + a) that keeps all digits of a small a (DLMF 5.7.3).
template <typename W>
W log_gamma_of_one_and(W a) {
  static const ZetaTable zeta;
  if (a > W(0.5)) return std::log(std::tgamma(1 + a));
  W sum = 0;
  for (int k = ZetaTable::kCount + 1; k >= 2; --k) sum = -a * (sum - W(zeta.less_one[k - 2]) / k);
  return a * (W(1 - kEuler) + sum) - std::log1p(a);
}

/// x / a - 1 - log(x / a): at least 0, and without cancellation near x = a.
template <typename W>
W deviation(W a, W x) {
  const W mu = (x - a) / a;
  if (std::abs(mu) > W(0.3)) return mu - std::log(x / a);
  const W s = mu / (2 + mu);  // log1p(mu) = 2 atanh(s), whose first term is mu - mu s
  const W square = s * s;
  W sum = 0;
  for (int k = 16; k >= 1; --k) sum = square * (W(1) / (2 * k + 1) + sum);
  return s * (mu - 2 * sum);
}

/// gamma(a) over Stirling's formula for it.
template <typename W>
W stirling_ratio(W a) {
  const W inverse = 1 / (a * a);
  W sum = 0;
  for (int j = 9; j >= 0; --j) sum = sum * inverse + W(kStirling[j]);
  return std::exp(sum / a);
}

/// x^a exp(-x) / gamma(a + 1).
template <typename W>
W leading_term(W a, W x) {
  if (a < 20) return x > 1000 ? W(0) : std::pow(x, a) * std::exp(-x) / std::tgamma(a + 1);
  const W size = std::exp(-a * deviation(a, x));
  return size / (std::sqrt(2 * W(kPi)) * std::sqrt(a) * stirling_ratio(a));
}

/// The share below x, for x < a + 1 or so.
template <typename W>
W below_by_series(W a, W x) {
  W term = leading_term(a, x);
  W sum = term;
  for (int n = 1; n < kMostTerms && term > sum * (kEpsilon<W> / 4); ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

/// The share above x, for x of at least 1.1 and a: Lentz' way through the continued fraction.
template <typename W>
W above_by_fraction(W a, W x) {
  const W size = leading_term(a, x) * a;
  if (size == 0) return 0;
  W b = x - a + 1;
  W c = kInfinity<W>;
  W d = 1 / b;
  W product = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const W numerator = n * (a - n);
    b += 2;
    d = 1 / (b + numerator * d);
    c = b + numerator / c;
    product *= c * d;
    if (std::abs(c * d - 1) <= kEpsilon<W>) break;
  }
  return size * product;
}

/// The share above x, for small operands: what is left of 1 is never formed.
template <typename W>
W above_by_series(W a, W x) {
  const W exponent = a * std::log(x) - log_gamma_of_one_and(a);
  W power = 1;
  W sum = 0;
  for (int n = 1; n < 60; ++n) {
    power *= -x / n;
    sum += power / (a + n);
  }
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

/// Coefficients of Temme's expansion: powers of eta for each power of 1 / a (DLMF 8.12.10 to 12).
struct TemmeTable {
  static constexpr int kOrders = 12;
  static constexpr int kPowers = 26;
  std::array<std::array<long double, kPowers>, kOrders> at{};

  TemmeTable() {
    constexpr int kAll = kPowers + 2 * kOrders;
    std::array<long double, kAll + 3> alpha{};
    alpha[1] = 1;
    for (int n = 2; n < kAll + 3; ++n) {
      alpha[n] = alpha[n - 1] / (n + 1);
      for (int i = 2; i < n; ++i) alpha[n] -= alpha[i] * alpha[n + 1 - i] / 2;
    }
    std::array<long double, kAll> first{};
    for (int n = 0; n < kAll; ++n) first[n] = (n + 2) * alpha[n + 2] - (n == 0 ? 1 : 0);
    const auto ratio = ratio_series();
    std::array<long double, kAll> row = first;
    for (int k = 0; k < kOrders; ++k) {
      if (k > 0) {
        const long double share = k % 2 == 0 ? ratio[k] : -ratio[k];
        for (int n = 0; n + 2 < kAll; ++n) row[n] = share * first[n] + (n + 2) * row[n + 2];
      }
      std::copy_n(row.begin(), kPowers, at[k].begin());
    }
  }

 private:
  /// The exponential of Stirling's series, in powers of 1 / a (DLMF 5.11.3).
  static std::array<long double, kOrders> ratio_series() {
    std::array<long double, kOrders> ratio{1};
    for (int k = 1; k < kOrders; ++k) {
      for (int j = 1; 2 * j - 1 <= k; ++j) {
        ratio[k] += (2 * j - 1) * kStirling[j - 1] * ratio[k - (2 * j - 1)] / k;
      }
    }
    return ratio;
  }
};

/// Both shares: of the integral of t^(a - 1) exp(-t), over gamma(a).
template <typename W>
struct Shares {
  W below, above;
};

/// For a of at least 200 and x within 0.3 a of it.
template <typename W>
Shares<W> shares_by_temme(W a, W x) {
  static const TemmeTable table;
  constexpr bool kIsLong = std::is_same_v<W, long double>;
  constexpr int kOrders = kIsLong ? TemmeTable::kOrders : 6;
  constexpr int kPowers = kIsLong ? TemmeTable::kPowers : 14;
  const W half_square = deviation(a, x);
  const W eta = std::copysign(std::sqrt(2 * half_square), x - a);
  W sum = 0;
  for (int k = kOrders - 1; k >= 0; --k) {
    W powers = 0;
    for (int n = kPowers - 1; n >= 0; --n) powers = powers * eta + W(table.at[k][n]);
    sum = sum / a + powers;
  }
  const W rest = std::exp(-a * half_square) * sum / (std::sqrt(2 * W(kPi)) * std::sqrt(a));
  const W tail = std::erfc(std::sqrt(a) * std::sqrt(half_square)) / 2;
  if (x >= a) return {1 - (tail + rest), tail + rest};
  return {tail - rest, 1 - (tail - rest)};
}

/// Of finite positive operands.
template <typename W>
Shares<W> shares_of(W a, W x) {
  if (a >= 200 && std::abs(x - a) <= W(0.3) * a) return shares_by_temme(a, x);
  if (x < W(1.1)) {
    const bool is_mostly_below = x <= W(0.5) ? a < W(-0.4) / std::log(x) : a < W(1.1) * x;
    if (is_mostly_below) {
      const W above = above_by_series(a, x);
      return {1 - above, above};
    }
  }
  if (x < a || x < W(1.1)) {
    const W below = below_by_series(a, x);
    return {below, 1 - below};
  }
  const W above = above_by_fraction(a, x);
  return {1 - above, above};
}

/// Whether there are no shares: at (0, 0) and (infinity, infinity) they depend on the way there.
template <typename W>
bool has_none(W a, W x) {
  return !(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x));
}

template <typename W>
Shares<W> all_shares(W a, W x) {
  if (has_none(a, x)) return {kNaN<W>, kNaN<W>};
  if (a == 0 || std::isinf(x)) return {1, 0};
  if (x == 0 || std::isinf(a)) return {0, 1};
  return shares_of(a, x);
}

struct Igamma {
  template <typename W>
  W operator()(W a, W x) const {
    return all_shares(a, x).below;
  }
};

struct Igammac {
  template <typename W>
  W operator()(W a, W x) const {
    return all_shares(a, x).above;
  }
};

/// x^(a - 1) exp(-x) / gamma(a): the density of a gamma variable.
struct IgammaSlope {
  template <typename W>
  W operator()(W a, W x) const {
    if (has_none(a, x)) return kNaN<W>;
    if (a == 0 || std::isinf(x) || std::isinf(a)) return 0;
    if (x > 0) return leading_term(a, x) * a / x;
    return a > 1 ? W(0) : a < 1 ? kInfinity<W> : W(1);
  }
};

}  // namespace

void fill_igamma() {
  fill_wide<Igamma>(igamma_kernels);
  fill_wide<Igammac>(igammac_kernels);
  fill_wide<IgammaSlope>(igamma_slope_kernels);
}

}  // namespace ebb::kernels::cpu
