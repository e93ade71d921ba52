// ebb/ops/impl/linalg/linalg_ldl.cpp -- factors of symmetric matrices that need not be positive:
// see linalg.h.

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/lapack_ldl.h"
#include "ebb/kernels/tables/lapack_ldl_solve.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/linalg/linalg.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/infer.h"

namespace ebb::ops::impl {

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& A, bool hermitian,
                                                        bool check_errors) {
  check_square("linalg_ldl_factor_ex", "A", A);
  const Shape batch = leading_sizes(A, 2);
  const Tensor factors = columns_of(A);
  const Tensor pivots = empty(vector_shape(batch, A.size(-1)), DType::int32, A.device());
  const Tensor info = run_lapack("linalg_ldl_factor_ex", kernels::lapack_ldl_kernels, batch,
                                 {factors, pivots}, hermitian ? 1 : 0);
  if (check_errors) {
    check_info(
        "linalg_ldl_factor_ex", info, "matrices that have an inverse",
        [](int place) {
          return str("that is singular: element ", place, " of the diagonal of D is 0");
        },
        "linalg.ldl_factor_ex tells by `info` where it fails");
  }
  return {transposed(factors), pivots, info};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  check_square("linalg_ldl_solve", "LD", LD);
  check_matrices("linalg_ldl_solve", "B", B);
  const Shape own = leading_sizes(LD, 2);
  if (Shape(pivots.sizes()) != vector_shape(own, LD.size(-1))) {
    throw ShapeError(str("linalg_ldl_solve: pivots need one number for each row of LD, got ",
                         infer::describe(pivots), " and ", infer::describe(LD)));
  }
  if (LD.size(-1) != B.size(-2)) {
    throw ShapeError(str("linalg_ldl_solve: LD needs as many rows as B, got ", infer::describe(LD),
                         " and ", infer::describe(B)));
  }
  const Shape batch = broadcast_shapes("linalg_ldl_solve", own, leading_sizes(B, 2));
  const Tensor solution = columns_of(B, batch);
  const Tensor places = contiguous(expand(pivots, vector_shape(batch, LD.size(-1))));
  const Tensor info = run_lapack("linalg_ldl_solve", kernels::lapack_ldl_solve_kernels, batch,
                                 {columns_of(LD, batch), places, solution}, hermitian ? 1 : 0);
  check_info(
      "linalg_ldl_solve", info, "pivots that name rows, those of blocks of 2 in pairs",
      [](int) { return std::string("that does not"); }, "they come from linalg.ldl_factor");
  return transposed(solution);
}

}  // namespace ebb::ops::impl
