// ebb/kernels/cpu/gemm/gemm.cpp -- which engine runs a product, and plain loops for integers.
#include "ebb/kernels/cpu/gemm/gemm.h"

#include <algorithm>
#include <type_traits>

#include "ebb/core/base/error.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/simd/isa.h"

namespace ebb::kernels::cpu {
namespace {

// Below so many multiplications OpenBLAS is faster for float32, from there on oneDNN.
constexpr int64_t kOneDnnWork = int64_t{1} << 20;
// The same for products with a vector, where oneDNN is faster as soon as its call is paid.
constexpr int64_t kOpenBlasVectorWork = 4096;

// With B stored by columns oneDNN multiplies small matrices as dot products: slow if k is large.
constexpr int64_t kDotProductSide = 128;

// Without AVX-512 oneDNN often reads A stored by columns, and B by rows, where they lie. If those
// lines are a multiple of 2 KiB apart, they meet in a few sets of the cache: half the rate of
// OpenBLAS, which packs them.
constexpr int64_t kMeetingLines = 512;
constexpr int64_t kPackedRows = 16, kPackedDepth = 128;  // what makes packing worth it

bool has_meeting_lines(const Gemm& g) {
  if (g.m < kPackedRows || g.k < kPackedDepth || usable_isa() == Isa::avx512) return false;
  const bool a_turned = g.a.row_stride == 1 && g.a.column_stride != 1;
  return (a_turned && g.a.column_stride % kMeetingLines == 0) ||
         (g.b.column_stride == 1 && g.b.row_stride % kMeetingLines == 0);
}

bool is_for_onednn(const Gemm& g) {
  const int64_t work = g.m * g.n * g.k;
  if (g.m == 1 || g.n == 1) return work > kOpenBlasVectorWork;
  const bool is_dot_product = g.b.column_stride != 1 && g.m < kDotProductSide &&
                              g.n < kDotProductSide && g.k >= 4 * std::max(g.m, g.n);
  return work >= kOneDnnWork && !is_dot_product && !has_meeting_lines(g);
}

// With A stored by columns and few columns of B the libraries reorder all of A for little work.
// Turned round, C^T = B^T A^T reads A as it lies: docs/gemm.md has what that saves.
constexpr int64_t kNarrowSide = 16;

bool is_narrow(const Gemm& g) {
  const bool is_turned = g.a.row_stride == 1 && g.a.column_stride != 1 && g.b.column_stride == 1;
  return is_turned && g.n > 1 && g.n <= kNarrowSide;
}
bool is_narrow_float32(const Gemm& g) { return is_narrow(g) && g.m >= 64 && g.k >= 128; }
bool is_narrow_float64(const Gemm& g) { return is_narrow(g) && g.m >= 256 && g.k >= 1024; }

/// Writes or adds the transpose of `turned` (n x m) to C.
template <typename T>
void write_turned(const T* turned, const Gemm& g) {
  T* const c = static_cast<T*>(g.c);
  for (int64_t i = 0; i < g.m; ++i) {
    T* const row = c + i * g.ldc;
    for (int64_t j = 0; j < g.n; ++j) {
      const T value = turned[j * g.m + i];
      row[j] = g.accumulate ? row[j] + value : value;
    }
  }
}

template <typename T, typename Engine>
void turned_gemm(const Gemm& g, Engine&& engine) {
  const Scratch scratch(static_cast<size_t>(g.n * g.m) * sizeof(T));
  const MatrixRef a{g.b.data, g.b.column_stride, g.b.row_stride};
  const MatrixRef b{g.a.data, g.a.column_stride, g.a.row_stride};
  engine(Gemm{g.n, g.m, g.k, a, b, scratch.as<T>(), g.m, false});
  write_turned(scratch.as<T>(), g);
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

StoredOperands stored_operands(const Gemm& g) {
  const auto a = stored_matrix(g.a, g.m, g.k), b = stored_matrix(g.b, g.k, g.n);
  const bool is_whole = std::min({g.m, g.n, g.k}) > 0 && (g.ldc >= g.n || g.m == 1);
  if (a && b && is_whole) return {*a, *b};
  throw InternalError(str("matmul: the kernel must pass matrices in dense lines, got ", g.m, " x ",
                          g.k, " with strides ", g.a.row_stride, ", ", g.a.column_stride, " and ",
                          g.k, " x ", g.n, " with strides ", g.b.row_stride, ", ",
                          g.b.column_stride, " into rows of ", g.ldc));
}

void gemm(DType dtype, const Gemm& g) {
  if (dtype == DType::float32) {
    if (is_narrow_float32(g)) return turned_gemm<float>(g, onednn_gemm);
    if (is_for_onednn(g)) return onednn_gemm(g);
  }
  if (dtype == DType::float64 && is_narrow_float64(g)) {
    return turned_gemm<double>(g,
                               [](const Gemm& turned) { openblas_gemm(DType::float64, turned); });
  }
  openblas_gemm(dtype, g);
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
