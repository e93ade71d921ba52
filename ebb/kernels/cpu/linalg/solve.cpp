// ebb/kernels/cpu/linalg/solve.cpp -- systems of equations: square ones by LU, triangular ones.
#include <complex>

#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/signatures_lapack.h"
#include "ebb/kernels/tables/lapack_solve.h"
#include "ebb/kernels/tables/lapack_triangular.h"

namespace ebb::kernels::cpu {
namespace {

using Operands = std::span<const TensorView>;

double square(double n) { return n * n; }

/// Operands: a, which becomes both factors; pivots; b, which becomes the solution.
template <typename T>
void solve_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const Matrices<T> a(operands[0]), b(operands[2]);
  const Vectors<int> pivots(operands[1]);
  const int n = a.rows, step = a.step();
  for_each_matrix("linalg.solve", info, square(n) * (n / 3.0 + b.columns), [&](int64_t i) {
    int* const result = info.as<int>() + i;
    lapack<T>(sgetrf_, dgetrf_, cgetrf_, zgetrf_)(&n, &n, a.at(i), &step, pivots.at(i), result);
    if (*result != 0) return fill_nan(b, i);
    lapack<T>(sgetrs_, dgetrs_, cgetrs_, zgetrs_)("N", &n, &b.columns, a.at(i), &step, pivots.at(i),
                                                  b.at(i), &step, result, 1);
  });
}

/// Operands: a triangle; b, which becomes the solution. Option: TriangleOption.
template <typename T>
void triangular_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Matrices<T> a(operands[0]), b(operands[1]);
  const int a_step = a.step(), b_step = b.step();
  const auto is = [&](int64_t bit) { return (option & bit) != 0; };
  const T one = 1;
  const double products = square(a.rows) * (is(TriangleOption::kLeft) ? b.columns : b.rows);
  for_each_matrix("linalg.solve_triangular", info, products, [&](int64_t i) {
    lapack<T>(strsm_, dtrsm_, ctrsm_, ztrsm_)(
        is(TriangleOption::kLeft) ? "L" : "R", is(TriangleOption::kUpper) ? "U" : "L", "N",
        is(TriangleOption::kUnit) ? "U" : "N", &b.rows, &b.columns, &one, a.at(i), &a_step, b.at(i),
        &b_step, 1, 1, 1, 1);
  });
}

template <typename... T>
void set() {
  (lapack_solve_kernels.set_cpu(dtype_of<T>, &solve_kernel<T>), ...);
  (lapack_triangular_kernels.set_cpu(dtype_of<T>, &triangular_kernel<T>), ...);
}

}  // namespace

void fill_solve() { set<float, double, std::complex<float>, std::complex<double>>(); }

}  // namespace ebb::kernels::cpu
