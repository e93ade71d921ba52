// ebb/kernels/cpu/linalg/product-inl.h -- subtracts the product of two small matrices, row by row:
// the work of all that factors and solves.
//
// C -= A B goes by tiles of some rows and up to three vectors of columns, whose sums stay in
// registers. The libraries of ../gemm/ copy both operands first, which costs more than products of
// this depth. An element's sum has the same order in every tile, so that it does not matter how
// callers cut C. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_LINALG_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINALG_PRODUCT_INL_H
#undef EBB_KERNELS_CPU_LINALG_PRODUCT_INL_H
#else
#define EBB_KERNELS_CPU_LINALG_PRODUCT_INL_H
#endif

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "ebb/kernels/cpu/linalg/row_matrices.h"
#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using PartOf = decltype(std::real(T()));
/// Real numbers in one of T.
template <typename T>
inline constexpr int kParts = static_cast<int>(sizeof(T) / sizeof(PartOf<T>));
template <typename T>
using Lanes = hn::ScalableTag<PartOf<T>>;
template <typename T>
inline constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Lanes<T>()));

template <typename T>
HWY_INLINE PartOf<T>* parts(T* numbers) {
  return reinterpret_cast<PartOf<T>*>(numbers);
}
template <typename T>
HWY_INLINE const PartOf<T>* parts(const T* numbers) {
  return reinterpret_cast<const PartOf<T>*>(numbers);
}

/// The columns of a matrix in real numbers: a vector of them may lie over its edge.
template <typename T, bool kWhole>
struct Edge {
  Lanes<T> d;
  size_t count;  // of lanes inside, in the last vector

  HWY_INLINE hn::Vec<Lanes<T>> load(const PartOf<T>* from, bool is_last) const {
    if constexpr (!kWhole) {
      if (is_last) return load_first(d, from, count);
    }
    return hn::LoadU(d, from);
  }
  HWY_INLINE void store(hn::Vec<Lanes<T>> v, PartOf<T>* to, bool is_last) const {
    if constexpr (!kWhole) {
      if (is_last) return store_first(v, d, to, count);
    }
    hn::StoreU(v, d, to);
  }
};

/// Even lanes with the other sign. So i times complex lanes are those turned round.
template <class V>
HWY_INLINE V with_even_negated(V x) {
  return hn::OddEven(x, hn::Neg(x));
}

constexpr int kTileVectors = 2;
/// Columns of a tile, in real numbers.
template <typename T>
constexpr int64_t kTile = kTileVectors* kLanes<T>;

/// One tile: A has kRows rows of `depth`; B and C have kVectors vectors of columns.
template <typename T, int kRows, int kVectors, bool kWhole>
HWY_INLINE void subtract_tile(Edge<T, kWhole> edge, int64_t depth, Rows<const T> a,
                              Rows<const PartOf<T>> b, Rows<PartOf<T>> c) {
  using V = hn::Vec<Lanes<T>>;
  constexpr bool kComplex = kParts<T> == 2;
  const Lanes<T> d;
  V sum[kRows][kVectors], turned[kRows][kVectors];  // turned: products with imaginary parts of A
  for (int r = 0; r < kRows; ++r) {
    hwy::Prefetch(c.at(r));
    if (kVectors > 1) hwy::Prefetch(c.at(r, (kVectors - 1) * kLanes<T>));
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::Zero(d);
      if constexpr (kComplex) turned[r][v] = hn::Zero(d);
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    V row[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      row[v] = edge.load(b.at(k, v * kLanes<T>), v + 1 == kVectors);
    }
    for (int r = 0; r < kRows; ++r) {
      const PartOf<T>* const factor = parts(a.at(r, k));
      const V real = hn::Set(d, factor[0]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(real, row[v], sum[r][v]);
      if constexpr (kComplex) {
        const V imag = hn::Set(d, factor[1]);
        for (int v = 0; v < kVectors; ++v) turned[r][v] = hn::MulAdd(imag, row[v], turned[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      PartOf<T>* const at = c.at(r, v * kLanes<T>);
      const bool is_last = v + 1 == kVectors;
      if constexpr (kComplex) {
        sum[r][v] = hn::Add(sum[r][v], with_even_negated(hn::Reverse2(d, turned[r][v])));
      }
      edge.store(hn::Sub(edge.load(at, is_last), sum[r][v]), at, is_last);
    }
  }
}

/// Some rows of C, over its last columns: fewer than a tile.
template <typename T, int kRows, int kVectors>
HWY_INLINE void subtract_edge(int64_t columns, int64_t depth, Rows<const T> a,
                              Rows<const PartOf<T>> b, Rows<PartOf<T>> c) {
  const auto last = static_cast<size_t>(columns - (kVectors - 1) * kLanes<T>);
  if (last == static_cast<size_t>(kLanes<T>)) {
    subtract_tile<T, kRows, kVectors>(Edge<T, true>{{}, last}, depth, a, b, c);
  } else {
    subtract_tile<T, kRows, kVectors>(Edge<T, false>{{}, last}, depth, a, b, c);
  }
}

/// Where a tile of B begins: in B, or in a copy with the tiles one behind the other.
template <typename T>
struct TilesOf {
  Rows<const T> first;
  int64_t apart;

  Rows<const T> at(int64_t column) const { return {first.data + column * apart, first.step}; }
};

/// Some rows of C, tile by tile.
template <typename T, int kRows>
void subtract_rows(int64_t columns, int64_t depth, Rows<const T> a, TilesOf<PartOf<T>> b,
                   Rows<PartOf<T>> c) {
  int64_t column = 0;
  for (; column + kTile<T> <= columns; column += kTile<T>) {
    subtract_tile<T, kRows, kTileVectors>(Edge<T, true>{}, depth, a, b.at(column),
                                          c.from(0, column));
  }
  const int64_t rest = columns - column;
  if (rest > kLanes<T>) {
    subtract_edge<T, kRows, 2>(rest, depth, a, b.at(column), c.from(0, column));
  } else if (rest > 0) {
    subtract_edge<T, kRows, 1>(rest, depth, a, b.at(column), c.from(0, column));
  }
}

/// All rows, as many at once as registers have room for sums.
template <typename T, int kRows>
void subtract_chunk(int64_t rows, int64_t columns, int64_t depth, Rows<const T> a,
                    TilesOf<PartOf<T>> b, Rows<PartOf<T>> c) {
  int64_t row = 0;
  const auto subtract = [&]<int kCount>(std::integral_constant<int, kCount>) {
    for (; row + kCount <= rows; row += kCount) {
      subtract_rows<T, kCount>(columns, depth, a.from(row, 0), b, c.from(row, 0));
    }
  };
  subtract(std::integral_constant<int, kRows>());
  if constexpr (kRows > 6) subtract(std::integral_constant<int, 6>());
  if constexpr (kRows > 3) subtract(std::integral_constant<int, 3>());
  subtract(std::integral_constant<int, 1>());
}

/// Up to kTile numbers.
template <typename T>
HWY_INLINE void copy_row(const PartOf<T>* from, int64_t count, PartOf<T>* to) {
  if (count < kTile<T>) {
    std::copy_n(from, count, to);
    return;
  }
  const Lanes<T> d;
  for (int v = 0; v < kTileVectors; ++v) {
    hn::StoreU(hn::LoadU(d, from + v * kLanes<T>), d, to + v * kLanes<T>);
  }
}

constexpr int64_t kMostDepth = 64;

/// C (rows x columns) -= A (rows x depth) B, of a depth up to kMostDepth. B is copied tile by tile,
/// so much of it at once as stays in the first cache, and A is read once for that.
template <typename T>
void subtract_product(int64_t rows, int64_t columns, int64_t depth, Rows<const T> a,
                      Rows<const T> b, Rows<T> c) {
  using Real = PartOf<T>;
  constexpr int64_t kCopied = 24 << 10;  // bytes
  constexpr int64_t kRowsToCopy = 32;    // fewer do not pay for it
  constexpr int64_t kChunk =
      std::max<int64_t>(1, kCopied / int64_t{sizeof(Real)} / kMostDepth / kTile<T>) * kTile<T>;
  constexpr int kRows = (HWY_TARGET <= HWY_AVX3 ? 12 : 6) / kParts<T>;
  alignas(64) Real copied[static_cast<size_t>(kMostDepth * kChunk)];
  const int64_t width = columns * kParts<T>;
  for (int64_t column = 0; column < width; column += kChunk) {
    const int64_t count = std::min(kChunk, width - column);
    TilesOf<Real> tiles{{parts(b.data) + column, b.step * kParts<T>}, 1};
    if (rows >= kRowsToCopy) {
      for (int64_t from = 0; from < count; from += kTile<T>) {
        Real* const tile = copied + from * depth;
        const int64_t part = std::min(kTile<T>, count - from);
        for (int64_t k = 0; k < depth; ++k) {
          copy_row<T>(tiles.first.at(k, from), part, tile + k * kTile<T>);
        }
      }
      tiles = {{copied, kTile<T>}, depth};
    }
    const Rows<Real> out{parts(c.data) + column, c.step * kParts<T>};
    if (count <= kLanes<T>) {
      subtract_chunk<T, 8 / kParts<T>>(rows, count, depth, a, tiles, out);
    } else {
      subtract_chunk<T, kRows>(rows, count, depth, a, tiles, out);
    }
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_LINALG_PRODUCT_INL_H
