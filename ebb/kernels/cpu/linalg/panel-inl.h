// ebb/kernels/cpu/linalg/panel-inl.h -- the LU factors of a few columns: PanelColumns.
//
// The columns are copied into memory of their own, one behind the other and real apart from
// imaginary parts, so that a vector holds rows of one of them: a column is brought up to date by
// all before it at once, and its largest element is found on the way. Rows beyond the last are 0.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_LINALG_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINALG_PANEL_INL_H
#undef EBB_KERNELS_CPU_LINALG_PANEL_INL_H
#else
#define EBB_KERNELS_CPU_LINALG_PANEL_INL_H
#endif

#include <cmath>
#include <utility>

#include "ebb/kernels/cpu/linalg/product-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// Columns that are factored one by one.
constexpr int64_t kFewColumns = 16;

/// The first of the largest numbers, lane by lane.
template <typename Real>
struct LargestOf {
  using D = hn::ScalableTag<Real>;
  using Places = hn::RebindToUnsigned<D>;
  hn::Vec<D> size;
  hn::Vec<Places> place;

  HWY_INLINE LargestOf() : size(hn::Set(D(), Real(-1))), place(hn::Zero(Places())) {}

  HWY_INLINE void add(hn::Vec<D> found, int64_t row) {
    const auto is_larger = hn::Gt(found, size);
    size = hn::IfThenElse(is_larger, found, size);
    const auto here = hn::Iota(Places(), static_cast<hn::TFromD<Places>>(row));
    place = hn::IfThenElse(hn::RebindMask(Places(), is_larger), here, place);
  }
  /// Its row; `first` where nothing but NaN was found.
  HWY_INLINE int64_t row(int64_t first, int64_t rows) const {
    constexpr size_t kCount = hn::MaxLanes(D());
    HWY_ALIGN Real sizes[kCount];
    HWY_ALIGN hn::TFromD<Places> rows_of[kCount];
    hn::Store(size, D(), sizes);
    hn::Store(place, Places(), rows_of);
    Real largest = -1;
    int64_t found = first;
    for (size_t lane = 0; lane < kCount; ++lane) {
      const auto row = static_cast<int64_t>(rows_of[lane]);
      const bool is_first = sizes[lane] == largest && row < found;
      if (row >= rows || sizes[lane] < 0 || !(sizes[lane] > largest || is_first)) continue;
      largest = sizes[lane];
      found = row;
    }
    return found;
  }
};

/// A square of as many rows and columns as 128 bits have lanes.
template <class D, typename Real>
HWY_INLINE void copy_turned_square(D d, Rows<const Real> from, Rows<Real> to) {
  const auto load = [&](int64_t row) HWY_ATTR { return hn::LoadU(d, from.at(row)); };
  if constexpr (hn::MaxLanes(D()) == 2) {
    const auto first = load(0), second = load(1);
    hn::StoreU(hn::InterleaveLower(d, first, second), d, to.at(0));
    hn::StoreU(hn::InterleaveUpper(d, first, second), d, to.at(1));
  } else {
    const auto row0 = load(0), row1 = load(1), row2 = load(2), row3 = load(3);
    const auto even = hn::InterleaveLower(d, row0, row2), odd = hn::InterleaveLower(d, row1, row3);
    hn::StoreU(hn::InterleaveLower(d, even, odd), d, to.at(0));
    hn::StoreU(hn::InterleaveUpper(d, even, odd), d, to.at(1));
    const auto high = hn::InterleaveUpper(d, row0, row2), rest = hn::InterleaveUpper(d, row1, row3);
    hn::StoreU(hn::InterleaveLower(d, high, rest), d, to.at(2));
    hn::StoreU(hn::InterleaveUpper(d, high, rest), d, to.at(3));
  }
}

/// Rows become columns.
template <typename Real>
void copy_turned(int64_t rows, int64_t columns, Rows<const Real> from, Rows<Real> to) {
  const hn::Simd<Real, 16 / sizeof(Real), 0> d;
  constexpr int64_t kSide = 16 / sizeof(Real);
  const int64_t whole = columns / kSide * kSide;
  int64_t row = 0;
  for (; row + kSide <= rows; row += kSide) {
    for (int64_t column = 0; column < whole; column += kSide) {
      copy_turned_square(d, from.from(row, column), to.from(column, row));
    }
    for (int64_t i = row; i < row + kSide; ++i) {
      for (int64_t column = whole; column < columns; ++column)
        *to.at(column, i) = *from.at(i, column);
    }
  }
  for (; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column)
      *to.at(column, row) = *from.at(row, column);
  }
}

template <typename T>
class PanelColumns {
 public:
  using Real = PartOf<T>;

  /// Real numbers in the memory of so many rows.
  static constexpr int64_t size(int64_t rows) { return kFewColumns * kParts<T> * step_of(rows); }

  PanelColumns(Real* memory, int64_t rows, int64_t count)
      : memory_(memory), rows_(rows), count_(count), step_(step_of(rows)) {}

  void load(Rows<const T> from) {
    const int64_t columns = count_ * kParts<T>;
    const Lanes<T> d;
    for (int64_t j = 0; j < columns; ++j) {  // fewer than two vectors behind the last row
      hn::StoreU(hn::Zero(d), d, memory_ + j * step_ + rows_);
      hn::StoreU(hn::Zero(d), d, memory_ + (j + 1) * step_ - kLanes<T>);
    }
    copy_turned<Real>(rows_, columns, {parts(from.data), from.step * kParts<T>}, {memory_, step_});
  }
  void store(Rows<T> to) const {
    copy_turned<Real>(count_ * kParts<T>, rows_, {memory_, step_},
                      {parts(to.data), to.step * kParts<T>});
  }

  /// Exchanges row j for pivots[j]. Returns the first column whose pivot is 0, or -1.
  int64_t factor(int64_t* pivots) {
    int64_t singular = -1;
    for (int64_t j = 0; j < count_; ++j) {
      pivots[j] = bring_up_to_date(j);
      if (element(pivots[j], j) == T(0)) {
        if (singular < 0) singular = j;
        continue;
      }
      if (pivots[j] != j) {
        for (int64_t part = 0; part < count_ * kParts<T>; ++part) {
          Real* const column = memory_ + part * step_;
          std::swap(column[j], column[pivots[j]]);
        }
      }
      divide(j);
    }
    return singular;
  }

 private:
  using V = hn::Vec<Lanes<T>>;
  using OneLane = hn::Simd<Real, 1, 0>;
  static constexpr int64_t kUnroll = 4;

  static constexpr int64_t step_of(int64_t rows) {
    return (rows + kLanes<T> - 1) / kLanes<T> * kLanes<T> + kLanes<T>;
  }
  Real* column(int64_t j, int part = 0) const { return memory_ + (j * kParts<T> + part) * step_; }
  T element(int64_t i, int64_t j) const {
    if constexpr (kParts<T> == 1)
      return column(j)[i];
    else
      return T(column(j)[i], column(j, 1)[i]);
  }

  /// Column j less the products of those before it. Returns the row of its largest element, from
  /// row j on.
  int64_t bring_up_to_date(int64_t j) {
    Real factors[kFewColumns * kParts<T>];
    for (int64_t k = 0; k < j; ++k) {
      // One lane, but by the operations of whole vectors: equal rows have to stay equal.
      subtract_columns<1>(OneLane(), k, j, k, factors, [](auto, int64_t) HWY_ATTR {});
      for (int part = 0; part < kParts<T>; ++part) {
        factors[k * kParts<T> + part] = column(j, part)[k];
      }
    }
    LargestOf<Real> largest;
    const auto add = [&](V size, int64_t row) HWY_ATTR { largest.add(size, row); };
    int64_t row = j;
    for (; row + kUnroll * kLanes<T> <= rows_; row += kUnroll * kLanes<T>) {
      subtract_columns<kUnroll>(Lanes<T>(), j, j, row, factors, add);
    }
    for (; row < rows_; row += kLanes<T>) {
      subtract_columns<1>(Lanes<T>(), j, j, row, factors, add);
    }
    // As LAPACK: a NaN on the diagonal stays there, others are passed over.
    return std::isnan(std::abs(element(j, j))) ? j : largest.row(j, rows_);
  }

  /// Some rows of column j less the products of columns [0, count). Reports their sizes.
  template <int kVectors, class D, class Report>
  HWY_INLINE void subtract_columns(D d, int64_t count, int64_t j, int64_t row, const Real* factors,
                                   const Report& report) {
    constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(D()));
    hn::Vec<D> sum[kParts<T>][kVectors];
    for (int part = 0; part < kParts<T>; ++part) {
      for (int v = 0; v < kVectors; ++v) {
        sum[part][v] = hn::LoadU(d, column(j, part) + row + v * kStep);
      }
    }
    for (int64_t p = 0; p < count; ++p) {
      const auto real = hn::Set(d, factors[p * kParts<T>]);
      for (int v = 0; v < kVectors; ++v) {
        const auto left = hn::LoadU(d, column(p) + row + v * kStep);
        sum[0][v] = hn::NegMulAdd(real, left, sum[0][v]);
        if constexpr (kParts<T> == 2) {
          const auto imag = hn::Set(d, factors[p * 2 + 1]);
          const auto other = hn::LoadU(d, column(p, 1) + row + v * kStep);
          sum[0][v] = hn::MulAdd(imag, other, sum[0][v]);
          sum[1][v] = hn::NegMulAdd(real, other, sum[1][v]);
          sum[1][v] = hn::NegMulAdd(imag, left, sum[1][v]);
        }
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = row + v * kStep;
      auto size = hn::Abs(sum[0][v]);
      hn::StoreU(sum[0][v], d, column(j) + at);
      if constexpr (kParts<T> == 2) {
        size = hn::Add(size, hn::Abs(sum[1][v]));
        hn::StoreU(sum[1][v], d, column(j, 1) + at);
      }
      report(size, at);
    }
  }

  /// Column j below its diagonal over the element on it. Equal numbers have the quotient 1 exactly:
  /// so a matrix with two equal rows is singular.
  void divide(int64_t j) {
    const Lanes<T> d;
    Real* const real = column(j);
    if constexpr (kParts<T> == 1) {
      const V pivot = hn::Set(d, real[j]);
      for (int64_t row = j + 1; row < rows_; row += kLanes<T>) {
        hn::StoreU(hn::Div(hn::LoadU(d, real + row), pivot), d, real + row);
      }
    } else {
      Real* const imag = column(j, 1);
      // Scaled by a power of two, so that no square is too large or too small.
      const Real magnitude = std::max(std::abs(real[j]), std::abs(imag[j]));
      const int exponent =
          std::isfinite(magnitude) ? std::max(-kMostExponent, std::ilogb(magnitude)) : 0;
      const Real scale = std::ldexp(Real(1), -exponent), x = real[j] * scale, y = imag[j] * scale;
      const V factor = hn::Set(d, scale), re = hn::Set(d, x), im = hn::Set(d, y),
              square = hn::Set(d, x * x + y * y);
      for (int64_t row = j + 1; row < rows_; row += kLanes<T>) {
        const V a = hn::Mul(hn::LoadU(d, real + row), factor);
        const V b = hn::Mul(hn::LoadU(d, imag + row), factor);
        const V first = hn::Add(hn::Mul(a, re), hn::Mul(b, im));
        const V second = hn::Sub(hn::Mul(b, re), hn::Mul(a, im));
        hn::StoreU(hn::Div(first, square), d, real + row);
        hn::StoreU(hn::Div(second, square), d, imag + row);
      }
    }
  }

  static constexpr int kMostExponent = std::numeric_limits<Real>::max_exponent - 2;

  Real* const memory_;
  const int64_t rows_, count_, step_;
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_LINALG_PANEL_INL_H
