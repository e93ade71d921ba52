// ebb/autograd/rules/linalg/linalg_reflections.cpp -- products of reflections: see linalg_qr.h.
//
// Reflection i is 1 - tau[i] v_i v_i^H. The product of all is 1 - V T V^H with a triangle T whose
// inverse has 1 / tau on its diagonal and the products of the vectors above, so that
// T = (1 + diag(tau) triu(V^H V, 1))^-1 diag(tau), where no tau divides.
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/eye.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/rules/linalg/linalg_qr.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

struct Reflections {
  Tensor vectors, triangle;  // V and T

  Reflections(const char* op, const Tensor& A, const Tensor& tau) {
    check_ndim(op, "A", A, 2, kMaxDims);
    check_ndim(op, "tau", tau, 1, kMaxDims);
    const int64_t rows = A.size(-2), count = tau.size(-1);
    if (count > std::min(rows, A.size(-1))) {
      throw ShapeError(str(op,
                           ": tau needs at most as many numbers as A has rows and columns, got ",
                           describe(tau), " and ", describe(A)));
    }
    const Tensor ones = eye(rows, count, A.dtype(), A.device());
    vectors = tril(narrow(A, -1, 0, count), -1) + ones;
    const Tensor scales = unsqueeze(tau, -1);
    const Tensor above = scales * matmul(adjoint(vectors), vectors);
    triangle = linalg_solve_triangular(above, diag_embed(tau), true, true, true);
  }
};

}  // namespace

Tensor householder_product(const Tensor& A, const Tensor& tau) {
  const char* const op = "linalg.householder_product";
  const Reflections of(op, A, tau);
  if (A.size(-1) > A.size(-2)) {
    throw ShapeError(str(op, ": A needs at least as many rows as columns, got ", describe(A)));
  }
  const Tensor kept = adjoint(narrow(of.vectors, -2, 0, A.size(-1)));
  return eye(A.size(-2), A.size(-1), A.dtype(), A.device()) -
         matmul(of.vectors, matmul(of.triangle, kept));
}

Tensor reflected(const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
                 bool transpose) {
  const Reflections of("ormqr", input, tau);
  check_ndim("ormqr", "other", other, 2, kMaxDims);
  if (other.size(left ? -2 : -1) != input.size(-2)) {
    throw ShapeError(str("ormqr: other needs as many ", left ? "rows" : "columns",
                         " as input has rows, got ", describe(other), " and ", describe(input)));
  }
  const Tensor triangle = transpose ? adjoint(of.triangle) : of.triangle,
               back = adjoint(of.vectors);
  if (left) return other - matmul(of.vectors, matmul(triangle, matmul(back, other)));
  return other - matmul(matmul(matmul(other, of.vectors), triangle), back);
}

}  // namespace ebb::autograd::rules
