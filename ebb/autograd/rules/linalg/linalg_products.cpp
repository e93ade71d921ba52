// ebb/autograd/rules/linalg/linalg_products.cpp -- powers of square matrices, in one dtype.
//
// Rows of the op table call these behind their casts: under autocast, products in here stay in the
// dtype of the operands.
#include "ebb/autograd/rules/linalg/linalg_products.h"

#include <array>

#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/ceil.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/eye.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/isfinite.h"
#include "ebb/autograd/ops/ldexp.h"
#include "ebb/autograd/ops/linalg_inv_ex.h"
#include "ebb/autograd/ops/log2.h"
#include "ebb/autograd/ops/logical_and.h"
#include "ebb/autograd/ops/lu_solution.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::impl::check_square;

Tensor eye_like(const Tensor& A) { return eye(A.size(-1), {}, A.dtype(), A.device()); }

/// How often the exponential of each matrix is squared, [..., 1, 1].
struct Squarings {
  Tensor each;
  int least = 0, most = 0;

  Tensor scale() const { return ldexp(ones_like(each), neg(each)); }
};

/// Each matrix goes by its own norm: beside a large one, a small one would lose its digits.
Squarings squarings_of(const Tensor& A, double largest_norm) {
  if (is_meta(A)) return {};
  const NoGradGuard no_grad;
  const Tensor norms = amax(sum(abs(detach(A)), Shape{-2}, true), Shape{-1}, true);
  const Tensor is_large = logical_and(isfinite(norms), greater(norms, Scalar(largest_norm)));
  const Tensor wanted = ceil(log2(norms * Scalar(1 / largest_norm)));
  const Tensor each = where(is_large, wanted, Scalar(0));
  return {each, static_cast<int>(amin(each).item<double>()),
          static_cast<int>(amax(each).item<double>())};
}

}  // namespace

Tensor matrix_power(const Tensor& A, int64_t n) {
  check_square("linalg_matrix_power", "A", A);
  Tensor square = n < 0 ? std::get<0>(linalg_inv_ex(A, true)) : A;
  Tensor result;
  for (uint64_t rest = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
       rest > 0; rest /= 2) {
    if (rest % 2 != 0) result = result.defined() ? matmul(result, square) : square;
    if (rest > 1) square = matmul(square, square);
  }
  if (result.defined()) return result.is_same(A) ? A * Scalar(1) : result;
  const Tensor never = full({}, false, DType::boolean, A.device());
  return where(never, A, eye_like(A));  // not A * 0, which of infinities would be NaN
}

Tensor matrix_exp(const Tensor& A) {
  check_square("linalg_matrix_exp", "A", A);
  if (A.numel() == 0) return A * Scalar(1);
  // The approximant of order 13 is exact to double precision up to this norm (Higham, 2005).
  constexpr double kLargest = 5.371920351148152;
  constexpr std::array<double, 14> kPade = {64764752532480000.,
                                            32382376266240000.,
                                            7771770303897600.,
                                            1187353796428800.,
                                            129060195264000.,
                                            10559470521600.,
                                            670442572800.,
                                            33522128640.,
                                            1323241920.,
                                            40840800.,
                                            960960.,
                                            16380.,
                                            182.,
                                            1.};
  const Squarings squarings = squarings_of(A, kLargest);
  const Tensor X = squarings.most == 0 ? A : A * squarings.scale(), one = eye_like(A);
  const Tensor X2 = matmul(X, X), X4 = matmul(X2, X2), X6 = matmul(X2, X4);
  const auto part = [&](size_t odd) {
    const auto term = [&](const Tensor& power, size_t index) {
      return power * Scalar(kPade[index + odd]);
    };
    const Tensor high = term(X6, 12) + term(X4, 10) + term(X2, 8);
    return matmul(X6, high) + term(X6, 6) + term(X4, 4) + term(X2, 2) + term(one, 0);
  };
  const Tensor even = part(0), odd = matmul(X, part(1));
  Tensor found = std::get<0>(lu_solution(even - odd, even + odd));
  for (int i = 0; i < squarings.most; ++i) {
    if (i < squarings.least) {
      found = matmul(found, found);
      continue;
    }
    // Those that are done are not squared, which might leave the range and spoil their gradient.
    const Tensor goes_on = greater(squarings.each, Scalar(i));
    const Tensor rest = where(goes_on, found, Scalar(0));
    found = where(goes_on, matmul(rest, rest), found);
  }
  return found;
}

}  // namespace ebb::autograd::rules
