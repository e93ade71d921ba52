// ebb/kernels/cpu/pointwise/airy.cpp -- the Airy function Ai and its slope.
//
// Between -10.5 and 10.5: the Taylor series about the nearest whole number, whose coefficients
// follow from Ai'' = x Ai (DLMF 9.2.1) and two values of 24 digits, computed for this file.
// Beyond: the expansions 9.7.5, 9.7.6, 9.7.9 and 9.7.10, whose smallest term is below exp(-44)
// there. All in the wider type of wide_rows.h.
#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/airy_ai.h"
#include "ebb/kernels/tables/airy_ai_slope.h"

namespace ebb::kernels::cpu {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr int kLast = 10;

/// A value and a slope.
template <typename W>
struct Airy {
  W value, slope;
};

constexpr Airy<long double> kAt[2 * kLast + 1] = {
    {0.0402412384864431906894303L, 0.996265044132790055904573L},
    {-0.0221337215473414036741692L, -0.97566398092633159471266L},
    {-0.0527050503563862026220827L, 0.935560938198306551025522L},
    {0.184280835250505637279942L, -0.771008168410126547731252L},
    {-0.329145173629823105231449L, 0.345935487281342894929779L},
    {0.350761009024114319788016L, 0.327192818554443136794879L},
    {-0.0702655329492895150990843L, -0.790628575368581380296454L},
    {-0.378814293677658074347244L, 0.314583769216598813650787L},
    {0.227407428201685575991924L, 0.618259020741691041406264L},
    {0.535560883292352118799517L, -0.0101605671166452093950455L},
    {0.355028053887817239260063L, -0.258819403792806798405184L},
    {0.135292416312881415524147L, -0.1591474412967932127875L},
    {0.0349241304232743791353221L, -0.0530903844336536317039992L},
    {0.00659113935746071914425745L, -0.0119129767059513184737632L},
    {0.0009515638512048018736215L, -0.00195864095020417890013814L},
    {0.000108344428136074417349865L, -0.000247413890868462476000236L},
    {0.00000994769436025288957023885L, -0.0000247652003970349547541818L},
    {0.000000749212886399716708077104L, -0.00000200815089473879199116931L},
    {4.69220761609923162564908e-8L, -0.000000134143929790678657429115L},
    {2.47116843087248984328924e-9L, -7.48064138965894641275955e-9L},
    {1.10475325528986859335502e-10L, -3.52063367673892363662064e-10L}};

template <typename W>
Airy<W> taylor(W x) {
  const W centre = std::round(x);
  const Airy<long double>& at = kAt[static_cast<int>(centre) + kLast];
  const W step = x - centre;
  // Coefficients n - 1, n and n + 1, and the power of the step of the last.
  W before = 0, here = W(at.value), next = W(at.slope), power = step;
  W value = here + next * step, slope = next;
  for (int n = 0; n < 60; ++n) {
    const W after = (centre * here + before) / (W(n + 1) * W(n + 2));
    slope += W(n + 2) * after * power;
    power *= step;
    value += after * power;
    before = here;
    here = next;
    next = after;
    // Two in a row may vanish: those at 0 do.
    const W least = std::numeric_limits<W>::epsilon() / 16;
    if (n > 8 && std::abs(after) + std::abs(here) < least * std::abs(value)) break;
  }
  return {value, slope};
}

/// Sums of u_k / zeta^k and v_k / zeta^k (9.7.2): of even k and of odd ones, the signs alternating
/// within each, or all of them in one with alternating signs.
template <typename W>
struct Sums {
  W even_u = 1, odd_u = 0, even_v = 1, odd_v = 0;
};
template <typename W>
Sums<W> expansion(W zeta, bool is_oscillating) {
  Sums<W> sums;
  W term = 1;
  for (int k = 1; k < 60; ++k) {
    const W grown =
        term * W(6 * k - 5) * W(6 * k - 3) * W(6 * k - 1) / (W(216) * W(k) * W(2 * k - 1) * zeta);
    if (grown > term || grown < std::numeric_limits<W>::epsilon() / 16) break;
    term = grown;
    const bool is_odd = k % 2 == 1;
    const W sign = is_oscillating ? (k / 2 % 2 == 1 ? W(-1) : W(1)) : (is_odd ? W(-1) : W(1));
    const W slope_term = -term * W(6 * k + 1) / W(6 * k - 1);
    (is_odd ? sums.odd_u : sums.even_u) += sign * term;
    (is_odd ? sums.odd_v : sums.even_v) += sign * slope_term;
  }
  return sums;
}

template <typename W>
Airy<W> airy_of(W x) {
  if (std::abs(x) < W(kLast) + W(0.5)) return taylor(x);
  if (std::isnan(x)) return {x, x};
  const W size = std::abs(x), root = std::sqrt(size);
  const W zeta = 2 * size * root / 3, fourth = std::sqrt(root);
  if (std::isinf(zeta)) return {0, x > 0 ? W(0) : std::numeric_limits<W>::quiet_NaN()};
  const W scale = 1 / std::sqrt(W(kPi));
  const Sums<W> sums = expansion(zeta, x < 0);
  if (x > 0) {
    const W decay = std::exp(-zeta) * scale / 2;
    return {decay / fourth * (sums.even_u + sums.odd_u),
            -decay * fourth * (sums.even_v + sums.odd_v)};
  }
  const W cosine = std::cos(zeta - W(kPi) / 4), sine = std::sin(zeta - W(kPi) / 4);
  return {scale / fourth * (cosine * sums.even_u + sine * sums.odd_u),
          scale * fourth * (sine * sums.even_v - cosine * sums.odd_v)};
}

struct Ai {
  template <typename W>
  W operator()(W x) const {
    return airy_of(x).value;
  }
};
struct AiSlope {
  template <typename W>
  W operator()(W x) const {
    return airy_of(x).slope;
  }
};

}  // namespace

void fill_airy() {
  fill_wide<Ai>(airy_ai_kernels);
  fill_wide<AiSlope>(airy_ai_slope_kernels);
}

}  // namespace ebb::kernels::cpu
