// ebb/kernels/cpu/linalg/lapack.h -- the one seam to LAPACK: its functions for each dtype, and how
// kernels go through a batch.
//
// LAPACK comes with the OpenBLAS that multiplies matrices. Its functions run on the calling thread;
// batches are cut into pieces for ebb's pool by their size alone, so that results do not depend on
// the number of threads. Matrices of one call lie column by column.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/blas_call.h"
#include "ebb/kernels/tensor_view.h"

// Fortran: all arguments by address, and the length of each text behind them.
extern "C" {
using EbbPotrf = void(const char* uplo, const int* n, void* a, const int* lda, int* info, size_t);
using EbbGeqrf = void(const int* m, const int* n, void* a, const int* lda, void* tau, void* work,
                      const int* work_size, int* info);
using EbbOrgqr = void(const int* m, const int* n, const int* k, void* a, const int* lda,
                      const void* tau, void* work, const int* work_size, int* info);
using EbbSytrf = void(const char* uplo, const int* n, void* a, const int* lda, int* pivots,
                      void* work, const int* work_size, int* info, size_t);
using EbbSytrs = void(const char* uplo, const int* n, const int* columns, const void* a,
                      const int* lda, const int* pivots, void* b, const int* ldb, int* info,
                      size_t);
using EbbSyevd = void(const char* job, const char* uplo, const int* n, void* a, const int* lda,
                      void* w, void* work, const int* work_size, int* int_work,
                      const int* int_work_size, int* info, size_t, size_t);
using EbbHeevd = void(const char* job, const char* uplo, const int* n, void* a, const int* lda,
                      void* w, void* work, const int* work_size, void* real_work,
                      const int* real_work_size, int* int_work, const int* int_work_size, int* info,
                      size_t, size_t);
using EbbRealGesdd = void(const char* job, const int* m, const int* n, void* a, const int* lda,
                          void* s, void* u, const int* ldu, void* vt, const int* ldvt, void* work,
                          const int* work_size, int* int_work, int* info, size_t);
using EbbComplexGesdd = void(const char* job, const int* m, const int* n, void* a, const int* lda,
                             void* s, void* u, const int* ldu, void* vt, const int* ldvt,
                             void* work, const int* work_size, void* real_work, int* int_work,
                             int* info, size_t);
using EbbRealGeev = void(const char* left, const char* right, const int* n, void* a, const int* lda,
                         void* real, void* imag, void* vl, const int* ldvl, void* vr,
                         const int* ldvr, void* work, const int* work_size, int* info, size_t,
                         size_t);
using EbbComplexGeev = void(const char* left, const char* right, const int* n, void* a,
                            const int* lda, void* w, void* vl, const int* ldvl, void* vr,
                            const int* ldvr, void* work, const int* work_size, void* real_work,
                            int* info, size_t, size_t);
EbbPotrf spotrf_, dpotrf_, cpotrf_, zpotrf_;
EbbGeqrf sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_;
EbbOrgqr sorgqr_, dorgqr_, cungqr_, zungqr_;
EbbSytrf ssytrf_, dsytrf_, csytrf_, zsytrf_, chetrf_, zhetrf_;
EbbSytrs ssytrs_, dsytrs_, csytrs_, zsytrs_, chetrs_, zhetrs_;
EbbSyevd ssyevd_, dsyevd_;
EbbHeevd cheevd_, zheevd_;
EbbRealGesdd sgesdd_, dgesdd_;
EbbComplexGesdd cgesdd_, zgesdd_;
EbbRealGeev sgeev_, dgeev_;
EbbComplexGeev cgeev_, zgeev_;
}

namespace ebb::kernels::cpu {

template <typename T>
inline constexpr bool is_complex_matrix = !std::is_floating_point_v<T>;

/// One of the four functions that a name of LAPACK stands for.
template <typename T, typename Function>
constexpr Function* lapack(Function* s, Function* d, Function* c, Function* z) {
  if constexpr (std::is_same_v<T, float>) return s;
  if constexpr (std::is_same_v<T, double>) return d;
  if constexpr (std::is_same_v<T, std::complex<float>>) return c;
  if constexpr (std::is_same_v<T, std::complex<double>>) return z;
}

/// One of two functions of the same numbers, in single and in double precision.
template <typename T, typename Function>
constexpr Function* lapack(Function* single, Function* twice) {
  return sizeof(decltype(std::real(T()))) == sizeof(float) ? single : twice;
}

template <typename T>
using RealOf = decltype(std::real(T()));

/// An operand of a kernel: the matrices (or vectors, which have one column) of a batch.
template <typename T>
struct Matrices {
  T* data;
  int rows, columns;

  explicit Matrices(const TensorView& view)
      : data(view.as<T>()),
        rows(static_cast<int>(view.sizes[view.ndim - 1])),
        columns(view.ndim > 1 ? static_cast<int>(view.sizes[view.ndim - 2]) : 1) {}
  T* at(int64_t i) const { return data + i * rows * columns; }
  /// What LAPACK wants between columns: never 0.
  int step() const { return std::max(rows, 1); }
};

/// Elements of a vector per entry of the batch.
template <typename T>
struct Vectors {
  T* data;
  int64_t size;

  explicit Vectors(const TensorView& view) : data(view.as<T>()), size(view.sizes[view.ndim - 1]) {}
  T* at(int64_t i) const { return data + i * size; }
};

/// Calls body(i) for each entry of `info`, cut into pieces of about a million multiplications.
template <typename Body>
void for_each_matrix(const char* op, const TensorView& info, double products, Body&& body) {
  constexpr double kPiece = 1 << 20;
  const auto grain = static_cast<int64_t>(kPiece / std::max(products, 1.0)) + 1;
  parallel_for(info.numel, grain, [&](int64_t begin, int64_t end) {
    const BlasCall call(op);
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

template <typename T>
bool is_all_finite(const Matrices<T>& matrices, int64_t i) {
  const auto* const first = reinterpret_cast<const RealOf<T>*>(matrices.at(i));
  const int64_t count = int64_t{matrices.rows} * matrices.columns * (is_complex_matrix<T> ? 2 : 1);
  return std::all_of(first, first + count, [](RealOf<T> one) { return std::isfinite(one); });
}

/// What a matrix is if LAPACK found no result.
template <typename T>
void fill_nan(const Matrices<T>& matrices, int64_t i) {
  std::fill_n(matrices.at(i), int64_t{matrices.rows} * matrices.columns,
              T(std::numeric_limits<decltype(std::real(T()))>::quiet_NaN()));
}

/// How many elements of scratch a function asks for, in the first number that it wrote.
template <typename T>
int work_size(const T& asked) {
  return std::max(1, static_cast<int>(std::real(asked)));
}

}  // namespace ebb::kernels::cpu
