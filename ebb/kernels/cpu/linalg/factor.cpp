// ebb/kernels/cpu/linalg/factor.cpp -- triangular factors of square matrices, and what follows from
// them alone: Cholesky, LU with its permutation, inverse, determinant.
#include <complex>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/tables/lapack_cholesky.h"
#include "ebb/kernels/tables/lapack_det.h"
#include "ebb/kernels/tables/lapack_inverse.h"
#include "ebb/kernels/tables/lapack_lu.h"
#include "ebb/kernels/tables/lapack_permutation.h"

namespace ebb::kernels::cpu {
namespace {

using Operands = std::span<const TensorView>;

double cube(double n) { return n * n * n; }

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

template <typename T>
void factor(const Matrices<T>& a, int* pivots, int64_t i, int* info) {
  const int step = a.step();
  lapack<T>(sgetrf_, dgetrf_, cgetrf_, zgetrf_)(&a.rows, &a.columns, a.at(i), &step, pivots, info);
}

/// Operands: a, which becomes both factors; pivots.
template <typename T>
void lu_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const Vectors<int> pivots(operands[1]);
  for_each_matrix("linalg.lu_factor", info, cube(std::max(a.rows, a.columns)),
                  [&](int64_t i) { factor(a, pivots.at(i), i, info.as<int>() + i); });
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

/// Operand: a, which becomes its inverse.
template <typename T>
void inverse_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const int n = a.rows, step = a.step();
  const auto invert = lapack<T>(sgetri_, dgetri_, cgetri_, zgetri_);
  T asked = 0;
  int ignored = 0;
  const int query = -1;
  invert(&n, a.data, &step, nullptr, &asked, &query, &ignored);
  const int size = work_size(asked);
  for_each_matrix("linalg.inv", info, 2 * cube(n), [&](int64_t i) {
    CountedVector<int> pivots(static_cast<size_t>(n));
    CountedVector<T> work(static_cast<size_t>(size));
    int* const result = info.as<int>() + i;
    factor(a, pivots.data(), i, result);
    if (*result != 0) return fill_nan(a, i);
    if (n > 0) invert(&n, a.at(i), &step, pivots.data(), work.data(), &size, result);
  });
}

/// Operands: a, which becomes both factors; pivots; the determinant; its sign (or phase) and the
/// logarithm of its magnitude.
template <typename T>
void det_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  using Real = decltype(std::real(T()));
  const Matrices<T> a(operands[0]);
  const Vectors<int> pivots(operands[1]);
  const int n = a.rows;
  for_each_matrix("linalg.det", info, cube(n) / 3, [&](int64_t i) {
    factor(a, pivots.at(i), i, info.as<int>() + i);
    T det = 1, sign = 1;
    Real log_size = 0;
    for (int k = 0; k < n; ++k) {
      const T one = a.at(i)[int64_t{k} * n + k];
      const T turned = pivots.at(i)[k] == k + 1 ? one : -one;
      const Real size = std::abs(one);
      det *= turned;
      sign = size == 0 ? T(0) : sign * (turned / size);
      log_size += std::log(size);
    }
    operands[2].as<T>()[i] = det;
    operands[3].as<T>()[i] = sign;
    operands[4].as<Real>()[i] = log_size;
  });
}

template <typename... T>
void set() {
  (lapack_cholesky_kernels.set_cpu(dtype_of<T>, &cholesky_kernel<T>), ...);
  (lapack_lu_kernels.set_cpu(dtype_of<T>, &lu_kernel<T>), ...);
  (lapack_inverse_kernels.set_cpu(dtype_of<T>, &inverse_kernel<T>), ...);
  (lapack_det_kernels.set_cpu(dtype_of<T>, &det_kernel<T>), ...);
}

}  // namespace

void fill_factor() {
  set<float, double, std::complex<float>, std::complex<double>>();
  lapack_permutation_kernels.set_cpu(DType::int32, &permutation_kernel);
}

}  // namespace ebb::kernels::cpu
