// ebb/kernels/cpu/linalg/factors-inl.h -- the LU factors of one matrix, row by row: LuFactors.
//
// The matrix is cut into panels of columns. While one thread brings the next panel up to date and
// factors it, others subtract the last one from strips of the columns behind it: pieces that depend
// on the sizes alone. Rows are exchanged in a strip when its turn comes, left of a panel at the
// end. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_LINALG_FACTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINALG_FACTORS_INL_H
#undef EBB_KERNELS_CPU_LINALG_FACTORS_INL_H
#else
#define EBB_KERNELS_CPU_LINALG_FACTORS_INL_H
#endif

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/kernels/cpu/linalg/panel-inl.h"
#include "ebb/kernels/cpu/linalg/triangle-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// Columns of a piece of work.
constexpr int64_t kStrip = 96;
/// Multiplications that are not worth a second thread.
constexpr int64_t kFewProducts = int64_t{1} << 18;

/// Exchanges rows as pivots [from, to) say, in the first `columns` of a matrix.
template <typename T>
void exchange_rows(const int* pivots, int64_t from, int64_t to, int64_t columns, Rows<T> rows) {
  for (int64_t row = from; row < to; ++row) {
    const int64_t other = pivots[row] - 1;
    if (other == row) continue;
    std::swap_ranges(rows.at(row), rows.at(row) + columns, rows.at(other));
  }
}

template <typename T>
class LuFactors {
 public:
  LuFactors(Rows<T> a, int64_t rows, int64_t columns, int* pivots)
      : a_(a), rows_(rows), columns_(columns), count_(std::min(rows, columns)), pivots_(pivots) {}

  /// Replaces the matrix by its factors. Returns 0, or which pivot is the first that is 0, from 1.
  int run() {
    if (count_ == 0) return 0;
    if (rows_ <= kLocalRows) {
      alignas(64) Real local[static_cast<size_t>(PanelColumns<T>::size(kLocalRows))];
      run_with(local);
    } else {
      run_with(CountedVector<Real>(static_cast<size_t>(PanelColumns<T>::size(rows_))).data());
    }
    return info_;
  }

 private:
  using Real = PartOf<T>;
  static constexpr int64_t kLocalRows = 64;

  int64_t width_of(int64_t start) const { return std::min(kBlock, count_ - start); }

  void run_with(Real* scratch) {
    factor_panel(0, scratch);
    for (int64_t start = 0; start < count_; start += kBlock) subtract_panel(start, scratch);
    const bool is_small = rows_ * count_ < kFewProducts;
    parallel_for(count_, is_small ? count_ : kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t start = begin; start < end; start += kBlock) {
        const int64_t width = width_of(start);
        exchange_rows(pivots_, start + width, count_, width, a_.from(0, start));
      }
    });
  }

  void factor_panel(int64_t start, Real* scratch) {
    const int64_t end = start + width_of(start);
    for (int64_t column = start; column < end; column += kFewColumns) {
      const int64_t next = std::min(column + kFewColumns, end);
      factor_columns(column, next, scratch);
      exchange_rows(pivots_, column, next, column - start, a_.from(0, start));
      if (next < end) subtract(column, next, next, end - next);
    }
  }

  void factor_columns(int64_t begin, int64_t end, Real* scratch) {
    int64_t places[kFewColumns];
    PanelColumns<T> panel(scratch, rows_ - begin, end - begin);
    const Rows<T> part = a_.from(begin, begin);
    panel.load({part.data, part.step});
    const int64_t singular = panel.factor(places);
    panel.store(part);
    if (singular >= 0 && info_ == 0) info_ = static_cast<int>(begin + singular) + 1;
    for (int64_t j = begin; j < end; ++j) {
      pivots_[j] = static_cast<int>(begin + places[j - begin]) + 1;
    }
  }

  /// Subtracts what columns [begin, end), which are factored, contribute to those from `column` on.
  void subtract(int64_t begin, int64_t end, int64_t column, int64_t columns) {
    exchange_rows(pivots_, begin, end, columns, a_.from(0, column));
    const Rows<const T> triangle{a_.at(begin, begin), a_.step}, left{a_.at(end, begin), a_.step};
    const Rows<T> top = a_.from(begin, column);
    solve_block<T, Triangle::lower>(end - begin, columns, triangle, Diagonal::ones, top);
    subtract_product<T>(rows_ - end, columns, end - begin, left, {top.data, top.step},
                        a_.from(end, column));
  }

  void subtract_panel(int64_t start, Real* scratch) {
    const int64_t end = start + width_of(start), rest = columns_ - end;
    if (rest == 0) return;
    const int64_t first = std::min(kBlock, rest), strips = (rest - first + kStrip - 1) / kStrip;
    const bool is_small = (rows_ - start) * rest * (end - start) < kFewProducts;
    parallel_for(strips + 1, is_small ? strips + 1 : 1, [&](int64_t piece, int64_t last) {
      for (; piece < last; ++piece) {
        if (piece == 0) {
          subtract(start, end, end, first);
          if (end < count_) factor_panel(end, scratch);
        } else {
          const int64_t column = end + first + (piece - 1) * kStrip;
          subtract(start, end, column, std::min(kStrip, columns_ - column));
        }
      }
    });
  }

  const Rows<T> a_;
  const int64_t rows_, columns_, count_;
  int* const pivots_;
  int info_ = 0;
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_LINALG_FACTORS_INL_H
