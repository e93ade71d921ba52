// ebb/kernels/cpu/linalg/ldl.cpp -- factors of symmetric and Hermitian matrices that need not be
// positive: A = L D L^T, with D of blocks of 1 and 2 rows.
#include <complex>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/tables/lapack_ldl.h"
#include "ebb/kernels/tables/lapack_ldl_solve.h"

namespace ebb::kernels::cpu {
namespace {

using Operands = std::span<const TensorView>;

template <typename T>
EbbSytrf* factor_of(bool hermitian) {
  return hermitian ? lapack<T>(ssytrf_, dsytrf_, chetrf_, zhetrf_)
                   : lapack<T>(ssytrf_, dsytrf_, csytrf_, zsytrf_);
}
template <typename T>
EbbSytrs* solve_of(bool hermitian) {
  return hermitian ? lapack<T>(ssytrs_, dsytrs_, chetrs_, zhetrs_)
                   : lapack<T>(ssytrs_, dsytrs_, csytrs_, zsytrs_);
}

/// Operands: a, whose lower triangle becomes both factors, the other 0; pivots. Option: 1 for
/// Hermitian matrices.
template <typename T>
void ldl_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const Vectors<int> pivots(operands[1]);
  const int n = a.rows, step = a.step(), query = -1;
  EbbSytrf* const factor = factor_of<T>(option != 0);
  T asked = 1;
  int ignored = 0;
  factor("L", &n, a.data, &step, nullptr, &asked, &query, &ignored, 1);
  const int size = work_size(asked);
  for_each_matrix("linalg.ldl_factor", info, n / 3.0 * n * n, [&](int64_t i) {
    CountedVector<T> work(static_cast<size_t>(size));
    T* const one = a.at(i);
    factor("L", &n, one, &step, pivots.at(i), work.data(), &size, info.as<int>() + i, 1);
    for (int column = 1; column < n; ++column) {
      std::fill_n(one + int64_t{column} * n, column, T(0));
    }
  });
}

/// Whether LAPACK can follow the pivots: rows of the matrix, those of blocks of 2 negative, in
/// pairs.
bool are_pivots(const int* pivots, int n) {
  for (int i = 0; i < n; ++i) {
    if (pivots[i] == 0 || pivots[i] > n || pivots[i] < -n) return false;
    if (pivots[i] > 0) continue;
    if (i + 1 == n || pivots[i + 1] != pivots[i]) return false;
    ++i;
  }
  return true;
}

/// Operands: both factors; pivots; b, which becomes the solution. Option: 1 for Hermitian matrices.
template <typename T>
void ldl_solve_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Matrices<T> a(operands[0]), b(operands[2]);
  const Vectors<int> pivots(operands[1]);
  const int n = a.rows, step = a.step();
  for_each_matrix("linalg.ldl_solve", info, 2.0 * n * n * b.columns, [&](int64_t i) {
    // A copy, since others may write the tensor between the check and the use.
    const CountedVector<int> followed(pivots.at(i), pivots.at(i) + n);
    if (!are_pivots(followed.data(), n)) {
      info.as<int>()[i] = -1;
      return;
    }
    solve_of<T>(option != 0)("L", &n, &b.columns, a.at(i), &step, followed.data(), b.at(i), &step,
                             info.as<int>() + i, 1);
  });
}

template <typename... T>
void set() {
  (lapack_ldl_kernels.set_cpu(dtype_of<T>, &ldl_kernel<T>), ...);
  (lapack_ldl_solve_kernels.set_cpu(dtype_of<T>, &ldl_solve_kernel<T>), ...);
}

}  // namespace

void fill_ldl() { set<float, double, std::complex<float>, std::complex<double>>(); }

}  // namespace ebb::kernels::cpu
