// ebb/ops/impl/linalg/linalg.cpp -- triangular factors and what follows from them: see linalg.h.
#include "ebb/ops/impl/linalg/linalg.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/lapack_cholesky.h"
#include "ebb/kernels/tables/lapack_det.h"
#include "ebb/kernels/tables/lapack_inverse.h"
#include "ebb/kernels/tables/lapack_lu.h"
#include "ebb/kernels/tables/lapack_permutation.h"
#include "ebb/kernels/tables/lapack_solve.h"
#include "ebb/kernels/tables/lapack_triangular.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"

namespace ebb::ops::impl {
namespace {

std::string explain_minor(int info) {
  return str("whose leading minor of order ", info, " is not positive definite");
}
std::string explain_pivot(int info) {
  return str("that is singular: element ", info, " of the diagonal of U is 0");
}

void check_positive(const char* op, const Tensor& info) {
  check_info(op, info, "Hermitian matrices that are positive definite", explain_minor,
             "linalg.cholesky_ex tells by `info` where it fails; add a multiple of the identity");
}
void check_regular(const char* op, const Tensor& info) {
  check_info(op, info, "matrices that have an inverse", explain_pivot,
             "linalg.lstsq and linalg.pinv take singular matrices");
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper, bool check_errors) {
  check_square("linalg_cholesky_ex", "A", A);
  const Tensor factor = columns_of(A);
  const Tensor info = run_lapack("linalg_cholesky_ex", kernels::lapack_cholesky_kernels,
                                 leading_sizes(A, 2), {factor}, upper ? 1 : 0);
  if (check_errors) check_positive("linalg_cholesky_ex", info);
  return {transposed(factor), info};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                       bool check_errors) {
  check_matrices("linalg_lu_factor_ex", "A", A);
  if (!pivot) {
    throw NotImplementedError("linalg_lu_factor_ex: LAPACK needs pivot=True, got False");
  }
  const Shape batch = leading_sizes(A, 2);
  const Tensor factors = rows_copied(A);
  const Tensor pivots = empty_vectors(batch, std::min(A.size(-1), A.size(-2)), DType::int32, A);
  const Tensor info =
      run_lapack("linalg_lu_factor_ex", kernels::lapack_lu_kernels, batch, {factors, pivots});
  if (check_errors) check_regular("linalg_lu_factor_ex", info);
  return {factors, pivots, info};
}

Tensor lu_rows(const Tensor& pivots, int64_t rows, bool inverse) {
  const Shape batch = leading_sizes(pivots, 1);
  const Tensor found = empty_vectors(batch, rows, DType::int64, pivots);
  const Tensor info = run_lapack("lu_rows", kernels::lapack_permutation_kernels, batch,
                                 {contiguous(pivots), found}, inverse ? 1 : 0);
  check_info(
      "lu_rows", info, "pivots from 1 to the number of rows",
      [](int) { return std::string("beyond them"); }, "they come from linalg.lu_factor");
  return found;
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square("linalg_inv_ex", "A", A);
  const Tensor inverse = rows_copied(A);
  const Tensor info =
      run_lapack("linalg_inv_ex", kernels::lapack_inverse_kernels, leading_sizes(A, 2), {inverse});
  if (check_errors) check_regular("linalg_inv_ex", info);
  return {inverse, info};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lu_solution(const Tensor& A, const Tensor& B,
                                                       bool check_errors) {
  check_square("linalg_solve", "A", A);
  check_matrices("linalg_solve", "B", B);
  if (A.size(-1) != B.size(-2)) {
    throw ShapeError(str("linalg_solve: A needs as many rows as B, got ", infer::describe(A),
                         " and ", infer::describe(B)));
  }
  const Shape own = leading_sizes(A, 2);
  const Shape batch = broadcast_shapes("linalg_solve", own, leading_sizes(B, 2));
  const Tensor factors = rows_copied(A, batch), solution = rows_copied(B, batch);
  const Tensor pivots = empty_vectors(batch, A.size(-1), DType::int32, A);
  const Tensor info =
      run_lapack("linalg_solve", kernels::lapack_solve_kernels, batch, {factors, pivots, solution});
  if (check_errors) check_regular("linalg_solve", info);
  return {solution, factors, pivots, info};
}

Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  using kernels::TriangleOption;
  check_square("linalg_solve_triangular", "A", A);
  check_matrices("linalg_solve_triangular", "B", B);
  if (A.size(-1) != B.size(left ? -2 : -1)) {
    throw ShapeError(str("linalg_solve_triangular: A needs as many rows as B has ",
                         left ? "rows" : "columns", ", got ", infer::describe(A), " and ",
                         infer::describe(B)));
  }
  const Shape batch =
      broadcast_shapes("linalg_solve_triangular", leading_sizes(A, 2), leading_sizes(B, 2));
  // X A = B is A.mT X.mT = B.mT, whose triangle is the other one.
  const Tensor matrix = left ? A : transposed(A);
  const Tensor solution = rows_copied(left ? B : transposed(B), batch);
  const int64_t option =
      (upper == left ? TriangleOption::kUpper : 0) | (unitriangular ? TriangleOption::kUnit : 0);
  if (solution.numel() != 0) {
    run_lapack("linalg_solve_triangular", kernels::lapack_triangular_kernels, batch,
               {rows_alone(matrix, batch), solution}, option);
  }
  return left ? solution : transposed(solution);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> lu_det(const Tensor& A) {
  check_square("linalg_det", "A", A);
  const Shape batch = leading_sizes(A, 2);
  const Tensor factors = rows_copied(A);
  const Tensor pivots = empty_vectors(batch, A.size(-1), DType::int32, A);
  const Tensor det = empty(batch, A.dtype(), A.device()), sign = empty_like(det, A.dtype());
  const Tensor log_size = empty(batch, real_type_of(A.dtype()), A.device());
  run_lapack("linalg_det", kernels::lapack_det_kernels, batch,
             {factors, pivots, det, sign, log_size});
  return {det, sign, log_size, factors, pivots};
}

}  // namespace ebb::ops::impl
