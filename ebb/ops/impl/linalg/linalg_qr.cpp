// ebb/ops/impl/linalg/linalg_qr.cpp -- see linalg_qr.h.
#include "ebb/ops/impl/linalg/linalg_qr.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/lapack_geqrf.h"
#include "ebb/kernels/tables/lapack_qr.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/impl/new_tensors.h"

namespace ebb::ops::impl {

std::tuple<Tensor, Tensor> geqrf(const Tensor& input) {
  check_matrices("geqrf", "input", input);
  const Shape batch = leading_sizes(input, 2);
  const int64_t count = std::min(input.size(-1), input.size(-2));
  const Tensor reflections = columns_of(input);
  const Tensor tau = empty(vector_shape(batch, count), input.dtype(), input.device());
  run_lapack("geqrf", kernels::lapack_geqrf_kernels, batch, {reflections, tau});
  return {transposed(reflections), tau};
}

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  check_matrices("linalg_qr", "A", A);
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    throw ValueError(str("linalg_qr: mode needs reduced, complete or r, got ", mode));
  }
  const int64_t rows = A.size(-2), least = std::min(rows, A.size(-1));
  const int64_t kept = mode == "complete" ? rows : least;
  const Shape batch = leading_sizes(A, 2);
  const Tensor Q = new_columns(batch, rows, mode == "r" ? 0 : kept, A.dtype(), A);
  const Tensor R = new_columns(batch, kept, A.size(-1), A.dtype(), A);
  run_lapack("linalg_qr", kernels::lapack_qr_kernels, batch, {columns_of(A), Q, R});
  if (mode == "r") return {empty(IntSpan{0}, A.dtype(), A.device()), transposed(R)};
  return {transposed(Q), transposed(R)};
}

}  // namespace ebb::ops::impl
