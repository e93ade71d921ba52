// ebb/kernels/cpu/network/recurrent_weight-inl.h -- a weight that many small products share.
//
// A recurrent layer multiplies a few rows with the same matrix at every time. The matrix is packed
// once into panels of two vectors' width, in the order in which the products read them; several
// products, of different columns, may then run at the same time. If there are too few times to pay
// for that, gemm() does the products. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_RECURRENT_WEIGHT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_RECURRENT_WEIGHT_INL_H
#undef EBB_KERNELS_CPU_RECURRENT_WEIGHT_INL_H
#else
#define EBB_KERNELS_CPU_RECURRENT_WEIGHT_INL_H
#endif

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sums of `kRows` rows and two vectors, in registers.
template <typename T, size_t kRows>
struct SumTile {
  using Vector = hn::Vec<hn::ScalableTag<T>>;
  Vector low, high;
  SumTile<T, kRows - 1> rest;

  HWY_INLINE SumTile() : low(hn::Zero(hn::ScalableTag<T>())), high(low) {}
  HWY_INLINE void add(const T* a, int64_t lda, Vector from_low, Vector from_high) {
    const Vector factor = hn::Set(hn::ScalableTag<T>(), *a);
    low = hn::MulAdd(factor, from_low, low);
    high = hn::MulAdd(factor, from_high, high);
    rest.add(a + lda, lda, from_low, from_high);
  }
  HWY_INLINE void add(const SumTile& other) {
    low = hn::Add(low, other.low);
    high = hn::Add(high, other.high);
    rest.add(other.rest);
  }
  HWY_INLINE void store(T* c, int64_t ldc) const {
    const hn::ScalableTag<T> d;
    hn::StoreU(low, d, c);
    hn::StoreU(high, d, c + hn::Lanes(d));
    rest.store(c + ldc, ldc);
  }
};
template <typename T>
struct SumTile<T, 0> {
  using Vector = hn::Vec<hn::ScalableTag<T>>;
  HWY_INLINE SumTile() {}
  HWY_INLINE void add(const T*, int64_t, Vector, Vector) {}
  HWY_INLINE void add(const SumTile&) {}
  HWY_INLINE void store(T*, int64_t) const {}
};

// Rows of a tile: its sums, two vectors of the panel and a factor fit into 32 or 16 registers.
constexpr size_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

// Tiles of up to so many rows have too few sums to hide how long an addition takes: they get two
// sets of sums, for even and odd factors.
constexpr size_t kDoubledRows = 3;

/// sums += a's first column times the panel's first row.
template <size_t kRows, typename T>
HWY_INLINE void add_products(const T* a, int64_t lda, const T* panel, SumTile<T, kRows>& sums) {
  const hn::ScalableTag<T> d;
  sums.add(a, lda, hn::LoadU(d, panel), hn::LoadU(d, panel + hn::Lanes(d)));
}

/// c (rows x panel's width) = a (rows x k) panel.
template <size_t kRows, typename T>
HWY_INLINE void multiply_tile(const T* a, int64_t lda, const T* panel, int64_t k, T* c,
                              int64_t ldc) {
  const size_t width = 2 * hn::Lanes(hn::ScalableTag<T>());
  SumTile<T, kRows> sums;
  int64_t p = 0;
  if constexpr (kRows <= kDoubledRows) {
    SumTile<T, kRows> odd;
    for (; p + 1 < k; p += 2, panel += 2 * width) {
      add_products(a + p, lda, panel, sums);
      add_products(a + p + 1, lda, panel + width, odd);
    }
    sums.add(odd);
  }
  for (; p < k; ++p, panel += width) add_products(a + p, lda, panel, sums);
  sums.store(c, ldc);
}
/// The same for a number of rows known at run time, from 1 to kMost.
template <size_t kMost, typename T>
void multiply_rows(int64_t rows, const T* a, int64_t lda, const T* panel, int64_t k, T* c,
                   int64_t ldc) {
  if constexpr (kMost > 1) {
    if (rows < static_cast<int64_t>(kMost)) {
      return multiply_rows<kMost - 1>(rows, a, lda, panel, k, c, ldc);
    }
  }
  multiply_tile<kMost>(a, lda, panel, k, c, ldc);
}

/// Whether the product is with the weight [kinds * units, units] or with its transpose.
enum class WeightSide { as_it_is, turned };

/// How the units are cut into blocks whose products are made apart.
struct UnitBlocks {
  int64_t width;  // of all blocks but the last, which has no more
  int64_t count;
};

/// A weight [kinds * units, units]. Products with its transpose (k = units) have the columns of a
/// block of units side by side, kind after kind; other products (k = kinds * units) its units.
/// One of a half type is packed always, widened.
template <typename S, typename T = LaneOf<S>>
class RecurrentWeight {
 public:
  RecurrentWeight(const S* weight, int64_t kinds, int64_t units, UnitBlocks blocks, WeightSide side,
                  bool is_packed)
      : weight_(weight),
        kinds_(side == WeightSide::turned ? kinds : 1),
        units_(units),
        depth_(side == WeightSide::turned ? units : kinds * units),
        blocks_(blocks),
        is_turned_(side == WeightSide::turned),
        is_packed_(is_packed || is_half_type<S>),
        panels_(static_cast<size_t>(is_packed_ ? blocks.count * row_size() * depth_ : 1) *
                sizeof(T)) {
    if (!is_packed_) return;
    const int64_t panels = row_size() / kWidth();
    parallel_for(blocks.count * panels, std::max<int64_t>(1, kPackWork / (kWidth() * depth_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) pack(i / panels, i % panels);
                 });
  }

  /// Elements from one row of a block's product to the next.
  int64_t row_size() const { return (kinds_ * blocks_.width + kWidth() - 1) / kWidth() * kWidth(); }

  /// c (rows x columns of the block) = a (rows of lda elements) times the block.
  void multiply(int64_t block, int64_t rows, const T* a, T* c) const {
    if (!is_packed_) {
      const MatrixRef b =
          is_turned_ ? MatrixRef{weight_, 1, units_} : MatrixRef{weight_, units_, 1};
      gemm(dtype_of<T>, {rows, kinds_ * units_, depth_, {a, depth_, 1}, b, c, row_size(), false});
      return;
    }
    constexpr auto kMost = static_cast<int64_t>(kTileRows);
    const int64_t tiles = (rows + kMost - 1) / kMost, tile = (rows + tiles - 1) / tiles;
    const int64_t columns =
        kinds_ * (std::min(units_, (block + 1) * blocks_.width) - block * blocks_.width);
    const T* panel = panels_.template as<T>() + block * row_size() * depth_;
    for (int64_t column = 0; column < columns; column += kWidth(), panel += kWidth() * depth_) {
      for (int64_t row = 0; row < rows; row += tile) {
        multiply_rows<kTileRows>(std::min(tile, rows - row), a + row * depth_, depth_, panel,
                                 depth_, c + row * row_size() + column, row_size());
      }
    }
  }

 private:
  static constexpr int64_t kPackWork = 1 << 15;  // elements that make a piece for another thread
  static constexpr int64_t kPackDepth = 64;
  static void copy(const S* from, int64_t count, T* to) {
    if constexpr (is_half_type<S>) {
      widen(from, to, static_cast<size_t>(count));
    } else {
      std::copy_n(from, count, to);
    }
  }
  /// Columns of a panel.
  static int64_t kWidth() { return static_cast<int64_t>(2 * hn::Lanes(hn::ScalableTag<T>())); }

  void pack(int64_t block, int64_t panel) const {
    const int64_t first = block * blocks_.width, width = std::min(blocks_.width, units_ - first);
    const int64_t column = panel * kWidth();
    const int64_t count = std::clamp<int64_t>(kinds_ * width - column, 0, kWidth());
    T* const to = panels_.template as<T>() + (block * row_size() + column) * depth_;
    if (count < kWidth()) std::fill_n(to, kWidth() * depth_, T{0});
    if (!is_turned_) {
      const S* const from = weight_ + first + column;
      for (int64_t p = 0; p < depth_; ++p) copy(from + p * units_, count, to + p * kWidth());
      return;
    }
    // In parts that stay in the cache while all columns are written.
    for (int64_t begin = 0; begin < depth_; begin += kPackDepth) {
      const int64_t end = std::min(depth_, begin + kPackDepth);
      for (int64_t j = 0; j < count; ++j) {
        const int64_t unit = first + (column + j) % width, kind = (column + j) / width;
        const S* const from = weight_ + (kind * units_ + unit) * units_;
        T line[kPackDepth];
        copy(from + begin, end - begin, line);
        for (int64_t p = begin; p < end; ++p) to[p * kWidth() + j] = line[p - begin];
      }
    }
  }

  const S* weight_;
  int64_t kinds_;  // in the columns of a product
  int64_t units_, depth_;
  UnitBlocks blocks_;
  bool is_turned_, is_packed_;
  Scratch panels_;
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
