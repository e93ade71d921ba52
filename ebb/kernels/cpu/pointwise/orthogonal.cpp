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

/// What four families of Chebyshev share; they differ in their degree 1, 2x less a shift.
template <typename W>
W chebyshev_step(W x, W last, W before) {
  return 2 * x * last - before;
}
struct ChebyshevT {
  template <typename W>
  static W first(W x) {
    return x;
  }
  template <typename W>
  static W next(W x, W, W last, W before) {
    return chebyshev_step(x, last, before);
  }
};
struct ChebyshevU : ChebyshevT {
  template <typename W>
  static W first(W x) {
    return 2 * x;
  }
};
struct ChebyshevV : ChebyshevT {
  template <typename W>
  static W first(W x) {
    return 2 * x - 1;
  }
};
struct ChebyshevW : ChebyshevT {
  template <typename W>
  static W first(W x) {
    return 2 * x + 1;
  }
};
template <class Family>
struct Shifted {
  template <typename W>
  static W first(W x) {
    return Family::first(2 * x - 1);
  }
  template <typename W>
  static W next(W x, W k, W last, W before) {
    return Family::next(2 * x - 1, k, last, before);
  }
};
struct HermiteH {
  template <typename W>
  static W first(W x) {
    return 2 * x;
  }
  template <typename W>
  static W next(W x, W k, W last, W before) {
    return 2 * (x * last - k * before);
  }
};
struct HermiteHe {
  template <typename W>
  static W first(W x) {
    return x;
  }
  template <typename W>
  static W next(W x, W k, W last, W before) {
    return x * last - k * before;
  }
};
struct Laguerre {
  template <typename W>
  static W first(W x) {
    return 1 - x;
  }
  template <typename W>
  static W next(W x, W k, W last, W before) {
    return ((2 * k + 1 - x) * last - k * before) / (k + 1);
  }
};
struct Legendre {
  template <typename W>
  static W first(W x) {
    return x;
  }
  template <typename W>
  static W next(W x, W k, W last, W before) {
    return ((2 * k + 1) * x * last - k * before) / (k + 1);
  }
};

/// NaN for a degree above a million, so that no element takes seconds.
template <class Family>
struct Polynomial {
  template <typename W>
  W operator()(W x, W n) const {
    const W degree = std::trunc(n);
    if (!(degree <= 1000000)) return std::numeric_limits<W>::quiet_NaN();
    if (degree <= 0) return degree < 0 ? W(0) : W(1);
    W before = 1;
    W last = Family::first(x);
    for (W k = 1; k < degree; k += 1) {
      const W next = Family::next(x, k, last, before);
      before = last;
      last = next;
    }
    return last;
  }
};

}  // namespace

void fill_orthogonal() {
  fill_wide<Polynomial<ChebyshevT>>(chebyshev_polynomial_t_kernels);
  fill_wide<Polynomial<ChebyshevU>>(chebyshev_polynomial_u_kernels);
  fill_wide<Polynomial<ChebyshevV>>(chebyshev_polynomial_v_kernels);
  fill_wide<Polynomial<ChebyshevW>>(chebyshev_polynomial_w_kernels);
  fill_wide<Polynomial<Shifted<ChebyshevT>>>(shifted_chebyshev_polynomial_t_kernels);
  fill_wide<Polynomial<Shifted<ChebyshevU>>>(shifted_chebyshev_polynomial_u_kernels);
  fill_wide<Polynomial<Shifted<ChebyshevV>>>(shifted_chebyshev_polynomial_v_kernels);
  fill_wide<Polynomial<Shifted<ChebyshevW>>>(shifted_chebyshev_polynomial_w_kernels);
  fill_wide<Polynomial<HermiteH>>(hermite_polynomial_h_kernels);
  fill_wide<Polynomial<HermiteHe>>(hermite_polynomial_he_kernels);
  fill_wide<Polynomial<Laguerre>>(laguerre_polynomial_l_kernels);
  fill_wide<Polynomial<Legendre>>(legendre_polynomial_p_kernels);
}

}  // namespace ebb::kernels::cpu
