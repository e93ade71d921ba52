// ebb/autograd/composites/linalg/linalg.cpp -- functions of ebb.linalg that are made of other ops.
//
// Each sets the location of its caller, so that errors name the user's line and not this file.
#include "ebb/autograd/operands/linalg.h"

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/linalg_lu_solve.h"
#include "ebb/autograd/ops/linalg_slogdet.h"
#include "ebb/autograd/ops/linalg_solve_ex.h"
#include "ebb/autograd/ops/linalg_solve_triangular.h"
#include "ebb/autograd/ops/log.h"
#include "ebb/autograd/ops/logdet.h"
#include "ebb/autograd/ops/lu_det.h"
#include "ebb/autograd/ops/lu_solution.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/triangular_solve.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/linalg/lu_rows.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using autograd::rules::adjoint;
using autograd::rules::is_vectors;
using ops::infer::check_ndim;

Tensor turned(const Tensor& matrices) { return transpose(matrices, -2, -1); }

}  // namespace

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  const autograd::operands::linalg_solve_ex call(A, B);
  const bool has_vectors = is_vectors(A, B);
  const Tensor right = has_vectors ? unsqueeze(B, -1) : B;
  // X A = B is A^T X^T = B^T; for a vector the same whichever side it is on, as in PyTorch.
  const bool is_turned = !left && !has_vectors;
  const auto [solution, LU, pivots, info] =
      lu_solution(is_turned ? turned(A) : A, is_turned ? turned(right) : right, check_errors);
  if (has_vectors) return {squeeze(solution, -1), info};
  return {is_turned ? turned(solution) : solution, info};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint_of_A) {
  const autograd::operands::linalg_lu_solve call(LU, pivots, B);
  check_ndim("linalg_lu_solve", "B", B, 2, kMaxDims);
  if (!left) return adjoint(linalg_lu_solve(LU, pivots, adjoint(B), true, !adjoint_of_A));
  using autograd::rules::RowOrder;
  using autograd::rules::take_rows;
  if (!adjoint_of_A) {  // A = P L U
    const Tensor ordered = take_rows(B, pivots, B.size(-2), RowOrder::factored);
    const Tensor under_L = linalg_solve_triangular(LU, ordered, false, true, true);
    return linalg_solve_triangular(LU, under_L, true);
  }
  const Tensor raised = adjoint(LU);
  const Tensor under_U = linalg_solve_triangular(raised, B, false);
  const Tensor under_L = linalg_solve_triangular(raised, under_U, true, true, true);
  return take_rows(under_L, pivots, B.size(-2), RowOrder::back);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& A, bool upper,
                                            bool is_turned, bool unitriangular) {
  const autograd::operands::triangular_solve call(b, A);
  check_ndim("triangular_solve", "b", b, 2, kMaxDims);
  check_ndim("triangular_solve", "A", A, 2, kMaxDims);
  const Tensor solution = linalg_solve_triangular(is_turned ? turned(A) : A, b, upper != is_turned,
                                                  true, unitriangular);
  Shape shape = solution.shape();
  shape[shape.ndim() - 1] = A.size(-1);
  return {solution, clone(expand(A, shape))};
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const autograd::operands::linalg_slogdet call(A);
  const auto parts = lu_det(A);
  return {std::get<1>(parts), std::get<2>(parts)};
}

Tensor logdet(const Tensor& input) {
  const autograd::operands::logdet call(input);
  const auto [sign, log_size] = linalg_slogdet(input);
  if (is_complex(input.dtype())) return log(sign) + log_size;
  return where(eq(sign, -1), Scalar(std::numeric_limits<double>::quiet_NaN()), log_size);
}

}  // namespace ebb
