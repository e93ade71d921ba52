// ebb/kernels/cpu/linalg/factor.cpp -- Cholesky factors, and the permutation that LU factors belong
// to.
#include <complex>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/tables/lapack_cholesky.h"
#include "ebb/kernels/tables/lapack_permutation.h"

namespace ebb::kernels::cpu {
namespace {

using Operands = std::span<const TensorView>;

double cube(double n) { return n * n * n; }

/// The order of the first leading minor that is NaN, 0 if none is: OpenBLAS takes it for positive.
template <typename T>
int first_nan(const T* factor, int n) {
  for (int column = 0; column < n; ++column) {
    const T pivot = factor[int64_t{column} * n + column];
    if (pivot != pivot) return column + 1;
  }
  return 0;
}

/// Operand: a, which becomes its factor; option: 1 for the upper triangle.
template <typename T>
void cholesky_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const int n = a.rows, step = a.step();
  const bool is_upper = option != 0;
  for_each_matrix("linalg.cholesky", info, cube(n) / 3, [&](int64_t i) {
    T* const one = a.at(i);
    lapack<T>(spotrf_, dpotrf_, cpotrf_, zpotrf_)(is_upper ? "U" : "L", &n, one, &step,
                                                  info.as<int>() + i, 1);
    if (info.as<int>()[i] == 0) info.as<int>()[i] = first_nan(one, n);
    for (int column = 0; column < n; ++column) {
      T* const first = one + int64_t{column} * n;
      if (is_upper) {
        std::fill(first + column + 1, first + n, T(0));
      } else {
        std::fill(first, first + column, T(0));
      }
    }
  });
}

/// Operands: pivots (int32), and the rows that they lead to (int64): row j of the product of the
/// factors is row rows[j] of the matrix. Option: 1 for the inverse of that.
void permutation_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Vectors<int> pivots(operands[0]);
  const Vectors<int64_t> rows(operands[1]);
  for_each_matrix("linalg.lu", info, static_cast<double>(rows.size), [&](int64_t i) {
    CountedVector<int64_t> order(static_cast<size_t>(rows.size));
    for (int64_t row = 0; row < rows.size; ++row) order[static_cast<size_t>(row)] = row;
    for (int64_t row = 0; row < std::min(pivots.size, rows.size); ++row) {
      const int64_t other = pivots.at(i)[row] - 1;
      if (other < 0 || other >= rows.size) {
        info.as<int>()[i] = -1;
        continue;
      }
      std::swap(order[static_cast<size_t>(row)], order[static_cast<size_t>(other)]);
    }
    for (int64_t row = 0; row < rows.size; ++row) {
      const int64_t found = order[static_cast<size_t>(row)];
      rows.at(i)[option != 0 ? found : row] = option != 0 ? row : found;
    }
  });
}

template <typename... T>
void set() {
  (lapack_cholesky_kernels.set_cpu(dtype_of<T>, &cholesky_kernel<T>), ...);
}

}  // namespace

void fill_factor() {
  set<float, double, std::complex<float>, std::complex<double>>();
  lapack_permutation_kernels.set_cpu(DType::int32, &permutation_kernel);
}

}  // namespace ebb::kernels::cpu
