// ebb/kernels/cpu/linalg/spectrum.cpp -- eigenvalues and singular values, with or without vectors.
//
// Matrices with NaN or infinities are refused before the iteration.
#include <complex>

#include "ebb/kernels/cpu/linalg/lapack.h"
#include "ebb/kernels/signatures_lapack.h"
#include "ebb/kernels/tables/lapack_eig.h"
#include "ebb/kernels/tables/lapack_eigh.h"
#include "ebb/kernels/tables/lapack_svd.h"

namespace ebb::kernels::cpu {
namespace {

using Operands = std::span<const TensorView>;

double cube(double n) { return n * n * n; }

/// Scratch of a call: its sizes are asked for once, its memory is made in each piece.
template <typename T>
struct Work {
  CountedVector<T> numbers;
  CountedVector<RealOf<T>> reals;
  CountedVector<int> ints;
  int count, real_count, int_count;

  Work(int count, int real_count, int int_count)
      : numbers(static_cast<size_t>(count)),
        reals(static_cast<size_t>(real_count)),
        ints(static_cast<size_t>(int_count)),
        count(count),
        real_count(real_count),
        int_count(int_count) {}
  Work like() const { return {count, real_count, int_count}; }
};

/// One call of the eigensolver for Hermitian matrices; sizes of -1 ask for those it needs.
template <typename T>
void call_eigh(int64_t option, const Matrices<T>& a, T* matrix, RealOf<T>* values, Work<T>& work,
               int* info) {
  const char* const job = (option & SpectrumOption::kVectors) != 0 ? "V" : "N";
  const char* const uplo = (option & SpectrumOption::kUpper) != 0 ? "U" : "L";
  const int step = a.step();
  if constexpr (is_complex_matrix<T>) {
    lapack<T>(cheevd_, zheevd_)(job, uplo, &a.rows, matrix, &step, values, work.numbers.data(),
                                &work.count, work.reals.data(), &work.real_count, work.ints.data(),
                                &work.int_count, info, 1, 1);
  } else {
    lapack<T>(ssyevd_, dsyevd_)(job, uplo, &a.rows, matrix, &step, values, work.numbers.data(),
                                &work.count, work.ints.data(), &work.int_count, info, 1, 1);
  }
}

/// Operands: a, which becomes the eigenvectors; eigenvalues. Option: SpectrumOption.
template <typename T>
void eigh_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  const Matrices<T> a(operands[0]);
  const Vectors<RealOf<T>> values(operands[1]);
  Work<T> query(1, 1, 1);
  query.count = query.real_count = query.int_count = -1;
  int ignored = 0;
  call_eigh<T>(option, a, a.data, values.data, query, &ignored);
  const Work<T> sizes(work_size(query.numbers[0]), work_size(query.reals[0]),
                      std::max(1, query.ints[0]));
  for_each_matrix("linalg.eigh", info, 9 * cube(a.rows), [&](int64_t i) {
    int* const result = info.as<int>() + i;
    if (!is_all_finite(a, i)) {
      *result = kNotFinite;
      return;
    }
    Work<T> work = sizes.like();
    if (a.rows > 0) call_eigh<T>(option, a, a.at(i), values.at(i), work, result);
  });
}

/// Where the parts of a singular value decomposition go.
template <typename T>
struct SvdPlan {
  Matrices<T> a, u, vt;
  Vectors<RealOf<T>> values;
  const char* job;

  explicit SvdPlan(Operands operands)
      : a(operands[0]), u(operands[1]), vt(operands[3]), values(operands[2]) {
    const bool is_thin = u.columns == std::min(a.rows, a.columns) && vt.rows == u.columns;
    job = u.columns == 0 ? "N" : (is_thin ? "S" : "A");
  }
  void call(int64_t i, Work<T>& work, int* info) const {
    const int step = a.step(), u_step = std::max(1, u.rows), vt_step = std::max(1, vt.rows);
    if constexpr (is_complex_matrix<T>) {
      lapack<T>(cgesdd_, zgesdd_)(job, &a.rows, &a.columns, a.at(i), &step, values.at(i), u.at(i),
                                  &u_step, vt.at(i), &vt_step, work.numbers.data(), &work.count,
                                  work.reals.data(), work.ints.data(), info, 1);
    } else {
      lapack<T>(sgesdd_, dgesdd_)(job, &a.rows, &a.columns, a.at(i), &step, values.at(i), u.at(i),
                                  &u_step, vt.at(i), &vt_step, work.numbers.data(), &work.count,
                                  work.ints.data(), info, 1);
    }
  }
};

/// Operands: a, which is overwritten; U, whose columns are none if no vectors are wanted, as many
/// as singular values, or as many as rows; singular values; the adjoint of V likewise.
template <typename T>
void svd_kernel(const Context&, Operands operands, int64_t, const TensorView& info) {
  const SvdPlan<T> plan(operands);
  const int least = std::min(plan.a.rows, plan.a.columns);
  const int most = std::max(plan.a.rows, plan.a.columns);
  const int real_count =
      is_complex_matrix<T> ? least * std::max(5 * least + 7, 2 * (most + least) + 1) : 0;
  Work<T> query(1, std::max(1, real_count), 8 * std::max(1, least));
  query.count = -1;
  int ignored = 0;
  plan.call(0, query, &ignored);
  const Work<T> sizes(work_size(query.numbers[0]), query.real_count, query.int_count);
  for_each_matrix("linalg.svd", info, 9.0 * most * least * std::max(least, 1), [&](int64_t i) {
    int* const result = info.as<int>() + i;
    if (!is_all_finite(plan.a, i)) {
      *result = kNotFinite;
      return;
    }
    Work<T> work = sizes.like();
    if (least > 0) plan.call(i, work, result);
  });
}

/// LAPACK gives pairs of conjugate vectors of a real matrix as two columns: real part, imaginary.
template <typename R>
void join_pairs(const R* imag, const R* columns, int n, std::complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = imag[j] != 0 && j + 1 < n;
    for (int64_t row = 0; row < n; ++row) {
      const R real = columns[j * n + row];
      const R part = is_pair ? columns[(j + 1) * n + row] : R(0);
      out[j * n + row] = {real, part};
      if (is_pair) out[(j + 1) * n + row] = {real, -part};
    }
    if (is_pair) ++j;
  }
}

/// Operands: a, which is overwritten; eigenvalues and eigenvectors, both complex. Option:
/// SpectrumOption::kVectors.
template <typename T>
void eig_kernel(const Context&, Operands operands, int64_t option, const TensorView& info) {
  using Real = RealOf<T>;
  using Complex = std::complex<Real>;
  const Matrices<T> a(operands[0]);
  const Vectors<Complex> values(operands[1]);
  const bool has_vectors = (option & SpectrumOption::kVectors) != 0;
  const char* const job = has_vectors ? "V" : "N";
  const int n = a.rows, step = a.step();
  const auto square = static_cast<size_t>(n) * static_cast<size_t>(n);
  const auto call = [&](int64_t i, T* vectors, Real* reals, T* work, int count, int* result) {
    if constexpr (is_complex_matrix<T>) {
      lapack<T>(cgeev_, zgeev_)("N", job, &n, a.at(i), &step, values.at(i), nullptr, &step, vectors,
                                &step, work, &count, reals, result, 1, 1);
    } else {
      lapack<T>(sgeev_, dgeev_)("N", job, &n, a.at(i), &step, reals, reals + n, nullptr, &step,
                                vectors, &step, work, &count, result, 1, 1);
    }
  };
  T asked = 1;
  Real asked_reals[2] = {};
  int ignored = 0;
  call(0, nullptr, asked_reals, &asked, -1, &ignored);
  const int count = work_size(asked);
  for_each_matrix("linalg.eig", info, 25 * cube(n), [&](int64_t i) {
    int* const result = info.as<int>() + i;
    if (!is_all_finite(a, i)) {
      *result = kNotFinite;
      return;
    }
    CountedVector<T> work(static_cast<size_t>(count)), vectors(has_vectors ? square : 1);
    CountedVector<Real> reals(2 * static_cast<size_t>(std::max(n, 1)));
    if (n > 0) call(i, vectors.data(), reals.data(), work.data(), count, result);
    Complex* const out = has_vectors ? operands[2].as<Complex>() + i * n * n : nullptr;
    if constexpr (is_complex_matrix<T>) {
      if (has_vectors) std::copy_n(vectors.data(), square, out);
    } else {
      for (int k = 0; k < n; ++k) values.at(i)[k] = {reals.data()[k], reals.data()[n + k]};
      if (has_vectors) join_pairs(reals.data() + n, vectors.data(), n, out);
    }
  });
}

template <typename... T>
void set() {
  (lapack_eigh_kernels.set_cpu(dtype_of<T>, &eigh_kernel<T>), ...);
  (lapack_svd_kernels.set_cpu(dtype_of<T>, &svd_kernel<T>), ...);
  (lapack_eig_kernels.set_cpu(dtype_of<T>, &eig_kernel<T>), ...);
}

}  // namespace

void fill_spectrum() { set<float, double, std::complex<float>, std::complex<double>>(); }

}  // namespace ebb::kernels::cpu
