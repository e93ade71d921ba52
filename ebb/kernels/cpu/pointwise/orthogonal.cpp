// ebb/kernels/cpu/pointwise/orthogonal.cpp -- orthogonal polynomials by their recurrences (DLMF
// 18.9), in the wider type of wide_rows.h. A family says its degree 1 and how to go on.
#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/simd/wide_rows.h"
#include "ebb/kernels/tables/chebyshev_polynomial_t.h"
#include "ebb/kernels/tables/chebyshev_polynomial_u.h"
#include "ebb/kernels/tables/chebyshev_polynomial_v.h"
#include "ebb/kernels/tables/chebyshev_polynomial_w.h"
#include "ebb/kernels/tables/hermite_polynomial_h.h"
#include "ebb/kernels/tables/hermite_polynomial_he.h"
#include "ebb/kernels/tables/laguerre_polynomial_l.h"
#include "ebb/kernels/tables/legendre_polynomial_p.h"
#include "ebb/kernels/tables/shifted_chebyshev_polynomial_t.h"
#include "ebb/kernels/tables/shifted_chebyshev_polynomial_u.h"
#include "ebb/kernels/tables/shifted_chebyshev_polynomial_v.h"
#include "ebb/kernels/tables/shifted_chebyshev_polynomial_w.h"

namespace ebb::kernels::cpu {
namespace {

/// A polynomial from its degree 1 and `next`, which takes x, k and the values of degrees k and
/// k - 1. NaN for a degree above a million, so that no element takes seconds.
template <class First, class Next>
struct Polynomial {
  template <typename W>
  W operator()(W x, W n) const {
    const W degree = std::trunc(n);
    if (!(degree <= 1000000)) return std::numeric_limits<W>::quiet_NaN();
    if (degree <= 0) return degree < 0 ? W(0) : W(1);
    W before = 1;
    W last = First()(x);
    for (W k = 1; k < degree; k += 1) {
      const W next = Next()(x, k, last, before);
      before = last;
      last = next;
    }
    return last;
  }
};
template <class First, class Next>
void set_family(KernelTable<BinaryKernel>& table, First, Next) {
  fill_wide<Polynomial<First, Next>>(table);
}

/// Chebyshev's four families differ in their degree 1, 2x less a shift. The shifted ones are of
/// 2x - 1.
template <class First>
void set_chebyshev(KernelTable<BinaryKernel>& plain, KernelTable<BinaryKernel>& shifted, First) {
  constexpr auto next = [](auto x, auto, auto last, auto before) { return 2 * x * last - before; };
  using Plain = Polynomial<First, decltype(next)>;
  fill_wide<Plain>(plain);
  fill_wide(shifted, [](auto x, auto n) { return Plain()(2 * x - 1, n); });
}

}  // namespace

void fill_orthogonal() {
  set_chebyshev(chebyshev_polynomial_t_kernels, shifted_chebyshev_polynomial_t_kernels,
                [](auto x) { return x; });
  set_chebyshev(chebyshev_polynomial_u_kernels, shifted_chebyshev_polynomial_u_kernels,
                [](auto x) { return 2 * x; });
  set_chebyshev(chebyshev_polynomial_v_kernels, shifted_chebyshev_polynomial_v_kernels,
                [](auto x) { return 2 * x - 1; });
  set_chebyshev(chebyshev_polynomial_w_kernels, shifted_chebyshev_polynomial_w_kernels,
                [](auto x) { return 2 * x + 1; });
  set_family(
      hermite_polynomial_h_kernels, [](auto x) { return 2 * x; },
      [](auto x, auto k, auto last, auto before) { return 2 * (x * last - k * before); });
  set_family(
      hermite_polynomial_he_kernels, [](auto x) { return x; },
      [](auto x, auto k, auto last, auto before) { return x * last - k * before; });
  set_family(
      laguerre_polynomial_l_kernels, [](auto x) { return 1 - x; },
      [](auto x, auto k, auto last, auto before) {
        return ((2 * k + 1 - x) * last - k * before) / (k + 1);
      });
  set_family(
      legendre_polynomial_p_kernels, [](auto x) { return x; },
      [](auto x, auto k, auto last, auto before) {
        return ((2 * k + 1) * x * last - k * before) / (k + 1);
      });
}

}  // namespace ebb::kernels::cpu
