// ebb/autograd/composites/linalg/linalg_more.cpp -- what is computed with factors.

#include "ebb/autograd/operands/linalg.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cholesky_inverse.h"
#include "ebb/autograd/ops/cholesky_solve.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/eye.h"
#include "ebb/autograd/ops/linalg_lu.h"
#include "ebb/autograd/ops/linalg_lu_factor_ex.h"
#include "ebb/autograd/ops/lu_unpack.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/linalg/lu_rows.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using autograd::rules::adjoint;
using ops::impl::check_square;
using ops::infer::check_ndim;

Tensor eye_like(const Tensor& A, int64_t size) { return eye(size, {}, A.dtype(), A.device()); }

/// P, L and U out of both factors in one matrix.
std::tuple<Tensor, Tensor, Tensor> unpacked(const Tensor& LU, const Tensor& pivots) {
  using autograd::rules::RowOrder;
  const int64_t rows = LU.size(-2), columns = LU.size(-1), least = std::min(rows, columns);
  const Tensor P = autograd::rules::take_rows(eye_like(LU, rows), pivots, rows, RowOrder::back);
  const Tensor one = eye(rows, least, LU.dtype(), LU.device());
  return {P, tril(narrow(LU, -1, 0, least), -1) + one, triu(narrow(LU, -2, 0, least))};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  const autograd::operands::linalg_lu call(A);
  const auto [LU, pivots, info] = linalg_lu_factor_ex(A, pivot);
  return unpacked(LU, pivots);
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots,
                                             bool unpack_data, bool unpack_pivots) {
  const autograd::operands::lu_unpack call(LU_data, LU_pivots);
  check_ndim("lu_unpack", "LU_data", LU_data, 2, kMaxDims);
  const auto [P, L, U] = unpacked(LU_data, LU_pivots);
  const Tensor none = empty(Shape{0}, LU_data.dtype(), LU_data.device());
  return {unpack_pivots ? P : none, unpack_data ? L : none, unpack_data ? U : none};
}

Tensor cholesky_solve(const Tensor& input, const Tensor& L, bool upper) {
  const autograd::operands::cholesky_solve call(input, L);
  check_ndim("cholesky_solve", "input", input, 2, kMaxDims);
  const Tensor lower = upper ? adjoint(L) : L;
  return linalg_solve_triangular(adjoint(lower), linalg_solve_triangular(lower, input, false),
                                 true);
}

Tensor cholesky_inverse(const Tensor& input, bool upper) {
  const autograd::operands::cholesky_inverse call(input);
  check_square("cholesky_inverse", "A", input);
  return cholesky_solve(eye_like(input, input.size(-1)), input, upper);
}

}  // namespace ebb
