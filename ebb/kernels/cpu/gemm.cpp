// ebb/kernels/cpu/gemm.cpp -- calls of OpenBLAS, and plain loops for integers.
#include "ebb/kernels/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <mutex>

namespace ebb::kernels::cpu {
namespace {

/// An operand as BLAS wants it: transposed or not, and the distance of its rows (or columns).
struct BlasOperand {
  CBLAS_TRANSPOSE transpose;
  blasint ld;
};

BlasOperand blas_operand(const MatrixRef& matrix) {
  if (matrix.column_stride == 1) return {CblasNoTrans, static_cast<blasint>(matrix.row_stride)};
  return {CblasTrans, static_cast<blasint>(matrix.column_stride)};
}

void call_blas(const Gemm& g, const BlasOperand& a, const BlasOperand& b, float beta, float*) {
  cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(g.m),
              static_cast<blasint>(g.n), static_cast<blasint>(g.k), 1.0f,
              static_cast<const float*>(g.a.data), a.ld, static_cast<const float*>(g.b.data), b.ld,
              beta, static_cast<float*>(g.c), static_cast<blasint>(g.ldc));
}
void call_blas(const Gemm& g, const BlasOperand& a, const BlasOperand& b, float beta, double*) {
  cblas_dgemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(g.m),
              static_cast<blasint>(g.n), static_cast<blasint>(g.k), 1.0,
              static_cast<const double*>(g.a.data), a.ld, static_cast<const double*>(g.b.data),
              b.ld, beta, static_cast<double*>(g.c), static_cast<blasint>(g.ldc));
}
void call_blas(const Gemm& g, const BlasOperand& a, const BlasOperand& b, float beta,
               std::complex<float>*) {
  const std::complex<float> one = 1.0f, factor = beta;
  cblas_cgemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(g.m),
              static_cast<blasint>(g.n), static_cast<blasint>(g.k), &one, g.a.data, a.ld, g.b.data,
              b.ld, &factor, g.c, static_cast<blasint>(g.ldc));
}
void call_blas(const Gemm& g, const BlasOperand& a, const BlasOperand& b, float beta,
               std::complex<double>*) {
  const std::complex<double> one = 1.0, factor = beta;
  cblas_zgemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(g.m),
              static_cast<blasint>(g.n), static_cast<blasint>(g.k), &one, g.a.data, a.ld, g.b.data,
              b.ld, &factor, g.c, static_cast<blasint>(g.ldc));
}

template <typename T>
void blas_gemm(const Gemm& g) {
  // The serial OpenBLAS takes its packing buffer without a lock: one call at a time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const BlasOperand a = blas_operand(g.a);
  const BlasOperand b = blas_operand(g.b);
  call_blas(g, a, b, g.accumulate ? 1.0f : 0.0f, static_cast<T*>(nullptr));
}

template <typename T>
void plain_gemm(const Gemm& g) {
  const auto* a = static_cast<const T*>(g.a.data);
  const auto* b = static_cast<const T*>(g.b.data);
  auto* c = static_cast<T*>(g.c);
  for (int64_t i = 0; i < g.m; ++i) {
    T* row = c + i * g.ldc;
    if (!g.accumulate) std::fill_n(row, g.n, T{0});
    for (int64_t p = 0; p < g.k; ++p) {
      const uint64_t factor = a[i * g.a.row_stride + p * g.a.column_stride];
      const T* from = b + p * g.b.row_stride;
      for (int64_t j = 0; j < g.n; ++j) {
        const uint64_t product = factor * from[j * g.b.column_stride];
        if constexpr (std::is_same_v<T, bool>) {
          row[j] |= product != 0;
        } else {
          row[j] = static_cast<T>(row[j] + product);
        }
      }
    }
  }
}

}  // namespace

void gemm(DType dtype, const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  const bool is_small = g.m * g.n * g.k <= kSmallProduct && g.n <= kSmallSide && g.k <= kSmallSide;
  if (is_small && small_gemm(dtype, g)) return;
  switch (dtype) {
    case DType::float32: return blas_gemm<float>(g);
    case DType::float64: return blas_gemm<double>(g);
    case DType::complex64: return blas_gemm<std::complex<float>>(g);
    default: return blas_gemm<std::complex<double>>(g);
  }
}

void gemm_integers(DType dtype, const Gemm& g) {
  switch (item_size(dtype)) {
    case 1: return dtype == DType::boolean ? plain_gemm<bool>(g) : plain_gemm<uint8_t>(g);
    case 2: return plain_gemm<uint16_t>(g);
    case 4: return plain_gemm<uint32_t>(g);
    default: return plain_gemm<uint64_t>(g);
  }
}

}  // namespace ebb::kernels::cpu
