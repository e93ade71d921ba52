// ebb/kernels/cpu/linalg/triangle-inl.h -- systems whose matrix is a triangle, row by row.
//
// Of a block of up to 64 rows those of six are solved together, after what the rows before them
// contribute was subtracted as one product; then the block is subtracted from all that follows it.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_LINALG_TRIANGLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINALG_TRIANGLE_INL_H
#undef EBB_KERNELS_CPU_LINALG_TRIANGLE_INL_H
#else
#define EBB_KERNELS_CPU_LINALG_TRIANGLE_INL_H
#endif

#include "ebb/kernels/cpu/linalg/product-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

enum class Triangle { lower, upper };
enum class Diagonal { stored, ones };

/// Rows whose solutions wait for each other.
constexpr int64_t kFewRows = 6;
/// Rows of a triangle that are solved before the rest is worked on.
constexpr int64_t kBlock = 64;
static_assert(kBlock <= kMostDepth);

/// A factor for complex or real lanes.
template <typename T>
struct LaneFactor {
  hn::Vec<Lanes<T>> real, imag;

  HWY_INLINE explicit LaneFactor(T factor) {
    const Lanes<T> d;
    real = hn::Set(d, std::real(factor));
    // The imaginary part of a product takes the other part of its lane: with a sign in even lanes.
    imag = with_even_negated(hn::Set(d, std::imag(factor)));
  }
  HWY_INLINE hn::Vec<Lanes<T>> times(hn::Vec<Lanes<T>> x) const {
    const auto product = hn::Mul(real, x);
    if constexpr (kParts<T> == 1) return product;
    return hn::MulAdd(imag, hn::Reverse2(Lanes<T>(), x), product);
  }
  HWY_INLINE hn::Vec<Lanes<T>> subtract_from(hn::Vec<Lanes<T>> sum, hn::Vec<Lanes<T>> x) const {
    const auto result = hn::NegMulAdd(real, x, sum);
    if constexpr (kParts<T> == 1) return result;
    return hn::NegMulAdd(imag, hn::Reverse2(Lanes<T>(), x), result);
  }
};

/// x divided by an element of the diagonal.
template <typename T>
HWY_INLINE hn::Vec<Lanes<T>> divided(hn::Vec<Lanes<T>> x, T by) {
  if constexpr (kParts<T> == 1) {
    return hn::Div(x, hn::Set(Lanes<T>(), by));
  } else {
    return LaneFactor<T>(T(1) / by).times(x);
  }
}

/// Up to kFewRows rows of X, over one vector of columns.
template <typename T, Triangle kTriangle, bool kWhole>
HWY_INLINE void solve_few(Edge<T, kWhole> edge, int64_t rows, Rows<const T> a, Diagonal diagonal,
                          Rows<PartOf<T>> x) {
  constexpr bool kLower = kTriangle == Triangle::lower;
  for (int64_t step = 0; step < rows; ++step) {
    const int64_t row = kLower ? step : rows - 1 - step;
    auto sum = edge.load(x.at(row), true);
    for (int64_t k = kLower ? 0 : row + 1; k < (kLower ? row : rows); ++k) {
      sum = LaneFactor<T>(*a.at(row, k)).subtract_from(sum, edge.load(x.at(k), true));
    }
    if (diagonal == Diagonal::stored) sum = divided<T>(sum, *a.at(row, row));
    edge.store(sum, x.at(row), true);
  }
}

/// The same over all columns.
template <typename T, Triangle kTriangle>
void solve_few_rows(int64_t rows, int64_t columns, Rows<const T> a, Diagonal diagonal, Rows<T> x) {
  const Rows<PartOf<T>> all{parts(x.data), x.step * kParts<T>};
  const int64_t width = columns * kParts<T>;
  int64_t column = 0;
  for (; column + kLanes<T> <= width; column += kLanes<T>) {
    solve_few<T, kTriangle>(Edge<T, true>{}, rows, a, diagonal, all.from(0, column));
  }
  if (column == width) return;
  const Edge<T, false> edge{{}, static_cast<size_t>(width - column)};
  solve_few<T, kTriangle>(edge, rows, a, diagonal, all.from(0, column));
}

/// Solves up to kBlock rows: A X = X.
template <typename T, Triangle kTriangle>
void solve_block(int64_t rows, int64_t columns, Rows<const T> a, Diagonal diagonal, Rows<T> x) {
  if constexpr (kTriangle == Triangle::lower) {
    for (int64_t row = 0; row < rows; row += kFewRows) {
      const int64_t count = std::min(kFewRows, rows - row);
      if (row > 0) {
        subtract_product<T>(count, columns, row, a.from(row, 0), {x.data, x.step}, x.from(row, 0));
      }
      solve_few_rows<T, kTriangle>(count, columns, a.from(row, row), diagonal, x.from(row, 0));
    }
  } else {
    for (int64_t end = rows; end > 0;) {
      const int64_t row = (end - 1) / kFewRows * kFewRows, count = end - row;
      if (end < rows) {
        subtract_product<T>(count, columns, rows - end, a.from(row, end), {x.at(end), x.step},
                            x.from(row, 0));
      }
      solve_few_rows<T, kTriangle>(count, columns, a.from(row, row), diagonal, x.from(row, 0));
      end = row;
    }
  }
}

/// Solves A X = X for a triangle of any size. The solution is 0 above row `first` of a lower one.
template <typename T, Triangle kTriangle>
void solve_triangle(int64_t size, int64_t columns, Rows<const T> a, Diagonal diagonal, Rows<T> x,
                    int64_t first = 0) {
  if constexpr (kTriangle == Triangle::lower) {
    for (int64_t row = first / kBlock * kBlock; row < size; row += kBlock) {
      const int64_t count = std::min(kBlock, size - row), next = row + count;
      solve_block<T, kTriangle>(count, columns, a.from(row, row), diagonal, x.from(row, 0));
      subtract_product<T>(size - next, columns, count, a.from(next, row), {x.at(row), x.step},
                          x.from(next, 0));
    }
  } else {
    for (int64_t end = size; end > 0;) {
      const int64_t row = (end - 1) / kBlock * kBlock, count = end - row;
      solve_block<T, kTriangle>(count, columns, a.from(row, row), diagonal, x.from(row, 0));
      subtract_product<T>(row, columns, count, a.from(0, row), {x.at(row), x.step}, x);
      end = row;
    }
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_LINALG_TRIANGLE_INL_H
