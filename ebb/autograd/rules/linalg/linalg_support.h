// ebb/autograd/rules/linalg/linalg_support.h -- what the rules of linear algebra share.
#pragma once

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/diag_embed.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/linalg_solve_triangular.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/tril.h"
#include "ebb/autograd/ops/triu.h"
#include "ebb/autograd/ops/unsqueeze.h"

namespace ebb::autograd::rules {

inline Tensor adjoint(const Tensor& matrices) { return conj(transpose(matrices, -2, -1)); }
/// Whether the right-hand side of a system is a batch of vectors.
inline bool is_vectors(const Tensor& A, const Tensor& B) {
  if (B.ndim() == 1) return true;
  return A.ndim() - 1 == B.ndim() && equal(A.sizes().first(A.sizes().size() - 1), B.sizes());
}

inline Tensor diagonal_of(const Tensor& matrices) { return diagonal(matrices, 0, -2, -1); }
/// One number per matrix, or per column, in a shape that broadcasts.
inline Tensor per_matrix(const Tensor& numbers) { return unsqueeze(unsqueeze(numbers, -1), -1); }
inline Tensor per_column(const Tensor& numbers) { return unsqueeze(numbers, -2); }

/// Whether what is made of `tensor` now may be differentiated once more.
inline bool is_followed(const Tensor& tensor) {
  if ((tensor.gate_bits() & gate::kTangent) != 0) return true;
  return is_grad_enabled() && tensor.requires_grad();
}

}  // namespace ebb::autograd::rules
