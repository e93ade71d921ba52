// ebb/kernels/cpu/linalg/lu.cpp -- LU factors of matrices and what they solve: systems, inverses,
// determinants, triangles. Matrices lie row by row.
#include <complex>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/linalg/factors-inl.h"
#include "ebb/kernels/cpu/linalg/lanes-inl.h"
#include "ebb/kernels/signatures_lapack.h"
#include "ebb/kernels/tables/lapack_det.h"
#include "ebb/kernels/tables/lapack_inverse.h"
#include "ebb/kernels/tables/lapack_lu.h"
#include "ebb/kernels/tables/lapack_solve.h"
#include "ebb/kernels/tables/lapack_triangular.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

using Operands = std::span<const TensorView>;

double product_of(int64_t a, int64_t b, int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// Calls body(column, columns) for strips of a matrix, where there is work for more than a thread.
template <typename Body>
void for_each_strip(int64_t columns, int64_t strip, double products, Body&& body) {
  const bool is_small = products < static_cast<double>(kFewProducts);
  parallel_for(columns, is_small ? columns : strip, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; column += strip) {
      body(column, std::min(strip, end - column));
    }
  });
}

/// Operands: a, which becomes both factors; pivots.
template <typename T>
void lu_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const RowMatrices<T> a(operands[0]);
  int* const pivots = operands[1].as<int>();
  const int64_t count = std::min(a.rows, a.columns);
  if constexpr (kParts<T> == 1) {
    if (a.rows == a.columns && is_for_lanes<T>(count, 0, info.numel)) {
      return factor_by_lanes<T>(info.numel, count, a.data, pivots, info.as<int>(), 0, nullptr);
    }
  }
  for_each_row_matrix(info, product_of(a.rows, a.columns, count), [&](int64_t i) {
    info.as<int>()[i] = LuFactors<T>(a[i], a.rows, a.columns, pivots + i * count).run();
  });
}

/// Operands: a, which becomes both factors; pivots; b, which becomes the solution.
template <typename T>
void solve_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const RowMatrices<T> a(operands[0]), b(operands[2]);
  const int64_t n = a.rows;
  if constexpr (kParts<T> == 1) {
    if (is_for_lanes<T>(n, b.columns, info.numel)) {
      int* const found = info.as<int>();
      factor_by_lanes<T>(info.numel, n, a.data, operands[1].as<int>(), found, b.columns, b.data);
      for (int64_t i = 0; i < info.numel; ++i) {
        if (found[i] != 0) b.fill_nan(i);
      }
      return;
    }
  }
  for_each_row_matrix(info, product_of(n, n, n / 3 + 2 * b.columns), [&](int64_t i) {
    int* const pivots = operands[1].as<int>() + i * n;
    const int found = LuFactors<T>(a[i], n, n, pivots).run();
    info.as<int>()[i] = found;
    if (found != 0) return b.fill_nan(i);
    const Rows<const T> factors{a[i].data, n};
    for_each_strip(b.columns, kStrip, product_of(n, n, b.columns),
                   [&](int64_t column, int64_t count) {
                     const Rows<T> x = b[i].from(0, column);
                     exchange_rows(pivots, 0, n, count, x);
                     solve_triangle<T, Triangle::lower>(n, count, factors, Diagonal::ones, x);
                     solve_triangle<T, Triangle::upper>(n, count, factors, Diagonal::stored, x);
                   });
  });
}

/// Operands: a triangle; b, which becomes the solution. Option: TriangleOption.
template <typename T>
void triangular_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const RowMatrices<T> a(operands[0]), b(operands[1]);
  const int64_t n = a.rows;
  const bool is_upper = (option & TriangleOption::kUpper) != 0;
  const Diagonal diagonal =
      (option & TriangleOption::kUnit) != 0 ? Diagonal::ones : Diagonal::stored;
  const double products = product_of(n, n, b.columns);
  for_each_row_matrix(info, products, [&](int64_t i) {
    const Rows<const T> triangle{a[i].data, n};
    for_each_strip(b.columns, kStrip, products, [&](int64_t column, int64_t count) {
      const Rows<T> x = b[i].from(0, column);
      if (is_upper) {
        solve_triangle<T, Triangle::upper>(n, count, triangle, diagonal, x);
      } else {
        solve_triangle<T, Triangle::lower>(n, count, triangle, diagonal, x);
      }
    });
  });
}

/// Column order[j] of the matrix becomes what column j is.
template <typename T>
void order_columns(Rows<T> a, int64_t n, const int64_t* order) {
  constexpr int64_t kRows = 64;
  parallel_for(n, n * n < kFewProducts / 4 ? n : kRows, [&](int64_t begin, int64_t end) {
    CountedVector<T> row(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(a.at(i), n, row.data());
      for (int64_t j = 0; j < n; ++j) *a.at(i, order[j]) = row[static_cast<size_t>(j)];
    }
  });
}

/// The inverse of a matrix that has been factored: that of U times that of L, then the columns go
/// where the pivots say.
template <typename T>
void invert(Rows<const T> factors, const int* pivots, int64_t n, Rows<T> out) {
  constexpr int64_t kColumns = 48;
  for_each_strip(n, kColumns, product_of(n, n, n), [&](int64_t column, int64_t count) {
    const Rows<T> x = out.from(0, column);
    for (int64_t row = 0; row < n; ++row) std::fill_n(x.at(row), count, T(0));
    for (int64_t j = 0; j < count; ++j) *x.at(column + j, j) = T(1);
    solve_triangle<T, Triangle::lower>(n, count, factors, Diagonal::ones, x, column);
    solve_triangle<T, Triangle::upper>(n, count, factors, Diagonal::stored, x);
  });
  CountedVector<int64_t> order(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) order[static_cast<size_t>(j)] = j;
  exchange_rows(pivots, 0, n, 1, Rows<int64_t>{order.data(), 1});
  order_columns(out, n, order.data());
}

/// Operand: a, which becomes its inverse.
template <typename T>
void inverse_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const RowMatrices<T> a(operands[0]);
  const int64_t n = a.rows;
  for_each_row_matrix(info, product_of(n, n, n), [&](int64_t i) {
    CountedVector<T> factors(a[i].data, a[i].data + a.size());
    CountedVector<int> pivots(static_cast<size_t>(n));
    const int found = LuFactors<T>({factors.data(), n}, n, n, pivots.data()).run();
    info.as<int>()[i] = found;
    if (found != 0) return a.fill_nan(i);
    invert<T>({factors.data(), n}, pivots.data(), n, a[i]);
  });
}

/// Operands: a, which becomes both factors; pivots; the determinant; its sign (or phase) and the
/// logarithm of its magnitude.
template <typename T>
void det_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  using Real = PartOf<T>;
  const RowMatrices<T> a(operands[0]);
  const int64_t n = a.rows;
  for_each_row_matrix(info, product_of(n, n, n / 3), [&](int64_t i) {
    int* const pivots = operands[1].as<int>() + i * n;
    info.as<int>()[i] = LuFactors<T>(a[i], n, n, pivots).run();
    T det = 1, sign = 1;
    Real log_size = 0;
    for (int64_t k = 0; k < n; ++k) {
      const T one = *a[i].at(k, k);
      const T turned = pivots[k] == k + 1 ? one : -one;
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
  (lapack_lu_kernels.set_cpu(dtype_of<T>, &lu_kernel<T>), ...);
  (lapack_solve_kernels.set_cpu(dtype_of<T>, &solve_kernel<T>), ...);
  (lapack_triangular_kernels.set_cpu(dtype_of<T>, &triangular_kernel<T>), ...);
  (lapack_inverse_kernels.set_cpu(dtype_of<T>, &inverse_kernel<T>), ...);
  (lapack_det_kernels.set_cpu(dtype_of<T>, &det_kernel<T>), ...);
}

}  // namespace

void fill_lu() { set<float, double, std::complex<float>, std::complex<double>>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
