// ebb/ops/impl/linalg/linalg_matrices.h -- what bodies of linear algebra share: checks of operands,
// copies in the order of LAPACK, and what is said when it fails.
//
// LAPACK wants matrices column by column. So its operands are copied into memory of shape [...,
// columns, rows], which kernels overwrite, and the results are that memory with the two dims
// exchanged. Our own kernels (LU factors and what they solve) overwrite copies row by row.
#pragma once

#include <initializer_list>
#include <string>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/kernel_table.h"
#include "ebb/kernels/signatures_lapack.h"

namespace ebb::ops::impl {

/// All sizes but the last `count`.
Shape leading_sizes(const Tensor& tensor, int count);
/// Those of a batch, then one more.
Shape vector_shape(IntSpan batch, int64_t size);
/// Room for a vector of each matrix of a batch, on the device of `like`.
Tensor empty_vectors(IntSpan batch, int64_t size, DType dtype, const Tensor& like);

/// Throws ShapeError unless it is a matrix or a batch of them, whose sizes LAPACK can count.
void check_matrices(const char* op, const char* name, const Tensor& tensor);
/// And they are square.
void check_square(const char* op, const char* name, const Tensor& tensor);

/// New memory with the matrices, repeated to fill `batch`, column by column.
Tensor columns_of(const Tensor& matrices, IntSpan batch);
inline Tensor columns_of(const Tensor& matrices) {
  return columns_of(matrices, leading_sizes(matrices, 2));
}
/// The same row by row.
Tensor rows_copied(const Tensor& matrices, IntSpan batch);
inline Tensor rows_copied(const Tensor& matrices) {
  return rows_copied(matrices, leading_sizes(matrices, 2));
}
/// The matrices themselves where they lie so, else a copy: for kernels that only read them.
Tensor rows_alone(const Tensor& matrices, IntSpan batch);
/// New memory for matrices column by column, for a result beside `like`.
Tensor new_columns(IntSpan batch, int64_t rows, int64_t count, DType dtype, const Tensor& like);
/// A view with the two dims exchanged: of memory column by column, its rows.
Tensor transposed(const Tensor& matrices);

using LapackTable = kernels::KernelTable<kernels::LapackKernel>;
/// Runs a kernel on contiguous operands of one batch, the first of which has its dtype. Returns
/// what LAPACK said of each entry.
Tensor run_lapack(const char* op, const LapackTable& table, IntSpan batch,
                  std::initializer_list<Tensor> operands, int64_t option = 0);

/// Throws LinAlgError for the first entry of `info` that is not 0: `op: what, got explain(info) at
/// entry [1, 2]`.
using Explain = std::string (*)(int info);
void check_info(const char* op, const Tensor& info, const char* what, Explain explain,
                const char* hint);

}  // namespace ebb::ops::impl
