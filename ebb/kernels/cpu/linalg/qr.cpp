// ebb/kernels/cpu/linalg/qr.cpp -- an orthonormal basis of columns, and their triangle in it.
#include <complex>

#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/tables/lapack_geqrf.h"
#include "ebb/kernels/tables/lapack_qr.h"

namespace ebb::kernels::cpu {
namespace {

/// Scratch of the reflections.
template <typename T>
int geqrf_work_size(const Matrices<T>& a) {
  const int query = -1, step = a.step();
  T asked = 1;
  int ignored = 0;
  lapack<T>(sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_)(&a.rows, &a.columns, nullptr, &step, nullptr,
                                                &asked, &query, &ignored);
  return work_size(asked);
}

/// Scratch of both steps.
template <typename T>
int qr_work_size(const Matrices<T>& a, const Matrices<T>& q, int rank) {
  const int query = -1, step = a.step();
  T second = 1;
  int ignored = 0;
  lapack<T>(sorgqr_, dorgqr_, cungqr_, zungqr_)(&q.rows, &q.columns, &rank, nullptr, &step, nullptr,
                                                &second, &query, &ignored);
  return std::max(geqrf_work_size(a), work_size(second));
}

/// Operands: a, which is overwritten; Q, which is not wanted if it has no columns; R.
template <typename T>
void qr_kernel(const Context&, std::span<const TensorView> operands, int64_t,
               const TensorView& info) {
  const Matrices<T> a(operands[0]), q(operands[1]), r(operands[2]);
  const int rank = std::min(a.rows, a.columns), step = a.step();
  const int size = qr_work_size(a, q, rank);
  const double products = 2.0 * a.rows * std::max(a.columns, q.columns) * std::max(rank, 1);
  for_each_matrix("linalg.qr", info, products, [&](int64_t i) {
    CountedVector<T> tau(static_cast<size_t>(rank)), work(static_cast<size_t>(size));
    int* const result = info.as<int>() + i;
    lapack<T>(sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_)(&a.rows, &a.columns, a.at(i), &step, tau.data(),
                                                  work.data(), &size, result);
    for (int column = 0; column < r.columns; ++column) {
      const T* const from = a.at(i) + int64_t{column} * a.rows;
      T* const to = r.at(i) + int64_t{column} * r.rows;
      const int filled = std::min({column + 1, a.rows, r.rows});
      std::copy_n(from, filled, to);
      std::fill(to + filled, to + r.rows, T(0));
    }
    if (q.columns == 0) return;
    std::copy_n(a.at(i), int64_t{a.rows} * std::min(a.columns, q.columns), q.at(i));
    lapack<T>(sorgqr_, dorgqr_, cungqr_, zungqr_)(&q.rows, &q.columns, &rank, q.at(i), &step,
                                                  tau.data(), work.data(), &size, result);
  });
}

/// Operands: a, which becomes R and the vectors of reflections below it; tau, their scales.
template <typename T>
void geqrf_kernel(const Context&, std::span<const TensorView> operands, int64_t,
                  const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const Vectors<T> tau(operands[1]);
  const int step = a.step(), size = geqrf_work_size(a);
  const double products = 2.0 * a.rows * a.columns * static_cast<double>(tau.size);
  for_each_matrix("geqrf", info, products, [&](int64_t i) {
    CountedVector<T> work(static_cast<size_t>(size));
    lapack<T>(sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_)(&a.rows, &a.columns, a.at(i), &step, tau.at(i),
                                                  work.data(), &size, info.as<int>() + i);
  });
}

template <typename... T>
void set() {
  (lapack_geqrf_kernels.set_cpu(dtype_of<T>, &geqrf_kernel<T>), ...);
  (lapack_qr_kernels.set_cpu(dtype_of<T>, &qr_kernel<T>), ...);
}

}  // namespace

void fill_qr() { set<float, double, std::complex<float>, std::complex<double>>(); }

}  // namespace ebb::kernels::cpu
