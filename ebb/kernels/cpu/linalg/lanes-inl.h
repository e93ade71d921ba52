// ebb/kernels/cpu/linalg/lanes-inl.h -- LU factors of many small matrices at once: LaneFactors.
//
// A lane of each vector is a matrix: elements of the same place lie side by side, and every step of
// elimination is one of whole vectors. Lanes choose their pivots by themselves, so that rows are
// exchanged under masks. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_LINALG_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINALG_LANES_INL_H
#undef EBB_KERNELS_CPU_LINALG_LANES_INL_H
#else
#define EBB_KERNELS_CPU_LINALG_LANES_INL_H
#endif

#include "ebb/kernels/cpu/linalg/panel-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// As many matrices as there are lanes, or fewer, of up to kMost rows, beside right-hand sides.
template <typename T>
class LaneFactors {
 public:
  static constexpr int64_t kMost = 16;

  LaneFactors(int64_t n, int64_t columns, int64_t count)
      : n_(n), columns_(columns), count_(count) {}

  void load(const T* a, const T* b) {
    if (count_ < kLanes<T>) {  // the other lanes hold what comes of 0
      std::fill_n(a_, n_ * n_ * kLanes<T>, T(0));
      std::fill_n(b_, n_ * columns_ * kLanes<T>, T(0));
    }
    copy_turned<T>(count_, n_ * n_, {a, n_ * n_}, {a_, kLanes<T>});
    if (columns_ > 0) copy_turned<T>(count_, n_ * columns_, {b, n_ * columns_}, {b_, kLanes<T>});
  }
  void store(T* a, T* b) const {
    copy_turned<T>(n_ * n_, count_, {a_, kLanes<T>}, {a, n_ * n_});
    if (columns_ > 0) copy_turned<T>(n_ * columns_, count_, {b_, kLanes<T>}, {b, n_ * columns_});
  }

  /// Factors all of them, and does to the right-hand sides what makes them those of U.
  void factor(int* pivots, int* info) {
    const Lanes<T> d;
    V singular = hn::Zero(d);
    for (int64_t j = 0; j < n_; ++j) {
      const V place = exchange(j);
      V pivot = hn::Load(d, a(j, j));
      const auto is_zero = hn::Eq(pivot, hn::Zero(d));
      const auto is_first = hn::And(is_zero, hn::Eq(singular, hn::Zero(d)));
      singular = hn::IfThenElse(is_first, hn::Set(d, static_cast<T>(j + 1)), singular);
      // As LAPACK, which leaves a column of zeros as it is.
      pivot = hn::IfThenElse(is_zero, hn::Set(d, T(1)), pivot);
      subtract_row(j, pivot);
      write(hn::Add(place, hn::Set(d, T(1))), n_, pivots + j);
    }
    write(singular, 1, info);
  }

  void solve_upper() {
    const Lanes<T> d;
    for (int64_t i = n_ - 1; i >= 0; --i) {
      const V pivot = hn::Load(d, a(i, i));
      for (int64_t c = 0; c < columns_; ++c) {
        V sum = hn::Load(d, b(i, c));
        for (int64_t k = i + 1; k < n_; ++k) {
          sum = hn::NegMulAdd(hn::Load(d, a(i, k)), hn::Load(d, b(k, c)), sum);
        }
        hn::Store(hn::Div(sum, pivot), d, b(i, c));
      }
    }
  }

 private:
  using V = hn::Vec<Lanes<T>>;

  T* a(int64_t i, int64_t j) { return a_ + (i * n_ + j) * kLanes<T>; }
  T* b(int64_t i, int64_t j) { return b_ + (i * columns_ + j) * kLanes<T>; }

  /// Exchanges row j for that of each lane's pivot, which is returned: the first of the largest.
  HWY_INLINE V exchange(int64_t j) {
    const Lanes<T> d;
    V largest = hn::Abs(hn::Load(d, a(j, j))), place = hn::Set(d, static_cast<T>(j));
    for (int64_t i = j + 1; i < n_; ++i) {
      const V size = hn::Abs(hn::Load(d, a(i, j)));
      const auto is_larger = hn::Gt(size, largest);
      largest = hn::IfThenElse(is_larger, size, largest);
      place = hn::IfThenElse(is_larger, hn::Set(d, static_cast<T>(i)), place);
    }
    for (int64_t i = j + 1; i < n_; ++i) {
      const auto is_here = hn::Eq(place, hn::Set(d, static_cast<T>(i)));
      if (hn::AllFalse(d, is_here)) continue;
      exchange_where(is_here, n_, a(i, 0), a(j, 0));
      exchange_where(is_here, columns_, b(i, 0), b(j, 0));
    }
    return place;
  }
  template <class M>
  HWY_INLINE void exchange_where(M mask, int64_t count, T* one, T* other) {
    const Lanes<T> d;
    for (const T* const end = one + count * kLanes<T>; one < end;
         one += kLanes<T>, other += kLanes<T>) {
      const V x = hn::Load(d, one), y = hn::Load(d, other);
      hn::Store(hn::IfThenElse(mask, y, x), d, one);
      hn::Store(hn::IfThenElse(mask, x, y), d, other);
    }
  }

  /// Subtracts multiples of row j from those below.
  HWY_INLINE void subtract_row(int64_t j, V pivot) {
    const Lanes<T> d;
    for (int64_t i = j + 1; i < n_; ++i) {
      const V factor = hn::Div(hn::Load(d, a(i, j)), pivot);
      hn::Store(factor, d, a(i, j));
      for (int64_t c = j + 1; c < n_; ++c) {
        const V x = hn::Load(d, a(i, c));
        hn::Store(hn::NegMulAdd(factor, hn::Load(d, a(j, c)), x), d, a(i, c));
      }
      for (int64_t c = 0; c < columns_; ++c) {
        const V x = hn::Load(d, b(i, c));
        hn::Store(hn::NegMulAdd(factor, hn::Load(d, b(j, c)), x), d, b(i, c));
      }
    }
  }

  HWY_INLINE void write(V numbers, int64_t step, int* to) const {
    HWY_ALIGN T each[kLanes<T>];
    hn::Store(numbers, Lanes<T>(), each);
    for (int64_t lane = 0; lane < count_; ++lane) to[lane * step] = static_cast<int>(each[lane]);
  }

  HWY_ALIGN T a_[kMost * kMost * kLanes<T>];
  HWY_ALIGN T b_[kMost * kMost * kLanes<T>];
  const int64_t n_, columns_, count_;
};

/// Whether a batch goes by lanes: many small matrices of real numbers.
template <typename T>
bool is_for_lanes(int64_t n, int64_t columns, int64_t matrices) {
  constexpr int64_t kMany = 4;  // fewer waste too many lanes
  return kParts<T> == 1 && n > 0 && n <= LaneFactors<T>::kMost &&
         columns <= LaneFactors<T>::kMost && matrices >= kMany;
}

/// Factors the matrices of a batch, and solves for `columns` right-hand sides each, if any.
template <typename T>
void factor_by_lanes(int64_t matrices, int64_t n, T* a, int* pivots, int* info, int64_t columns,
                     T* b) {
  const int64_t work = n * n * (n + columns) * kLanes<T>;
  parallel_for((matrices - 1) / kLanes<T> + 1, (int64_t{1} << 18) / work + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin * kLanes<T>; i < std::min(end * kLanes<T>, matrices);
                      i += kLanes<T>) {
                   LaneFactors<T> lanes(n, columns, std::min(kLanes<T>, matrices - i));
                   T* const one = a + i * n * n;
                   T* const sides = columns > 0 ? b + i * n * columns : nullptr;
                   lanes.load(one, sides);
                   lanes.factor(pivots + i * n, info + i);
                   if (columns > 0) lanes.solve_upper();
                   lanes.store(one, sides);
                 }
               });
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_LINALG_LANES_INL_H
