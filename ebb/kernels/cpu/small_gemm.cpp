// ebb/kernels/cpu/small_gemm.cpp -- products so small that calling a library costs more than they
// do.
//
// Blocks of kRows rows times one or two vectors of columns are kept in registers. A transposed
// operand B is turned over into a buffer on the stack first; A may have any strides.
#include "ebb/kernels/cpu/gemm.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/simd.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/small_gemm.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/rows-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// `rows` x one vector of C; only the first `count` columns are there.
template <int rows, bool is_full, typename T>
HWY_INLINE void block(const Gemm& g, const T* a, const T* b, int64_t ldb, T* c, size_t count) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> sums[rows];
  for (int i = 0; i < rows; ++i) {
    T* row = c + i * g.ldc;
    sums[i] = hn::Zero(d);
    if (g.accumulate) sums[i] = is_full ? hn::LoadU(d, row) : load_first(d, row, count);
  }
  const int64_t row_stride = g.a.row_stride;
  for (int64_t p = 0; p < g.k; ++p) {
    const auto from = is_full ? hn::LoadU(d, b + p * ldb) : load_first(d, b + p * ldb, count);
    const T* column = a + p * g.a.column_stride;
    for (int i = 0; i < rows; ++i) {
      sums[i] = hn::MulAdd(hn::Set(d, column[i * row_stride]), from, sums[i]);
    }
  }
  for (int i = 0; i < rows; ++i) {
    T* row = c + i * g.ldc;
    if constexpr (is_full) {
      hn::StoreU(sums[i], d, row);
    } else {
      store_first(sums[i], d, row, count);
    }
  }
}

template <bool is_full, typename T>
HWY_INLINE void column_of_blocks(const Gemm& g, const T* b, int64_t ldb, int64_t j, size_t count) {
  const auto* a = static_cast<const T*>(g.a.data);
  auto* c = static_cast<T*>(g.c) + j;
  int64_t i = 0;
  for (; i + 8 <= g.m; i += 8) {
    block<8, is_full>(g, a + i * g.a.row_stride, b + j, ldb, c + i * g.ldc, count);
  }
  for (; i + 2 <= g.m; i += 2) {
    block<2, is_full>(g, a + i * g.a.row_stride, b + j, ldb, c + i * g.ldc, count);
  }
  if (i < g.m) block<1, is_full>(g, a + i * g.a.row_stride, b + j, ldb, c + i * g.ldc, count);
}

template <typename T>
void small_product(const Gemm& g) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* b = static_cast<const T*>(g.b.data);
  int64_t ldb = g.b.row_stride;
  HWY_ALIGN T turned[kSmallSide * kSmallSide];
  if (g.b.column_stride != 1 && g.n > 1) {
    for (int64_t j = 0; j < g.n; ++j) {
      const T* from = b + j * g.b.column_stride;
      for (int64_t p = 0; p < g.k; ++p) turned[p * g.n + j] = from[p * g.b.row_stride];
    }
    b = turned;
    ldb = g.n;
  }
  int64_t j = 0;
  for (; j + lanes <= g.n; j += lanes) column_of_blocks<true>(g, b, ldb, j, 0);
  if (j < g.n) column_of_blocks<false>(g, b, ldb, j, static_cast<size_t>(g.n - j));
}

void run_float(const Gemm& g) { small_product<float>(g); }
void run_double(const Gemm& g) { small_product<double>(g); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {

bool small_gemm(DType dtype, const Gemm& g) {
  const Isa isa = usable_isa();
  if (dtype == DType::float32) {
    EBB_CALL_FOR_ISA(isa, run_float(g));
    return true;
  }
  if (dtype == DType::float64) {
    EBB_CALL_FOR_ISA(isa, run_double(g));
    return true;
  }
  return false;
}

}  // namespace ebb::kernels::cpu
#endif
