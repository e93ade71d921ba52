// ebb/kernels/cpu/reduce/reduce-inl.h -- reductions as trees whose shape depends on sizes alone.
//
// Elements are combined in leaves of up to kTile elements, leaves in pairs, pairs in pairs of
// pairs, and so on, so that the rounding error grows with the logarithm of the count. Every kChunk
// elements (or kChunkRows rows, when whole rows are added) make a piece that any thread may take;
// the results of the pieces are combined in pairs again, always in the same order. Included once
// per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_REDUCE_INL_H
#undef EBB_KERNELS_CPU_REDUCE_INL_H
#else
#define EBB_KERNELS_CPU_REDUCE_INL_H
#endif

#include <algorithm>
#include <limits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/reduce/reduce_plan.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

inline constexpr int64_t kChunk = 64 * kTile;  // elements of one output that one piece reduces
inline constexpr int64_t kRowsPerLeaf = 16;
inline constexpr int64_t kChunkRows = 64 * kRowsPerLeaf;
inline constexpr int kLevels = 7;         // of the tree over 64 leaves
inline constexpr int64_t kColumns = 256;  // columns that are reduced together

/// What half types are accumulated in; others in themselves.
template <typename T>
using AccumulatorOf = LaneOf<T>;

/// What most ops have in common: elements enter as they are, and results leave so.
struct PlainOp {
  template <class D, class V>
  HWY_INLINE V mapped(D, V element) const {
    return element;
  }
  template <typename T>
  T finished(T value) const {
    return value;
  }
};

struct SumOp : PlainOp {
  template <typename T>
  static constexpr T identity() {
    return T{0};
  }
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Add(lhs, rhs);
  }
  template <typename T>
  T scalar(T lhs, T rhs) const {
    return lhs + rhs;
  }
};

/// The largest; NaN counts as larger than anything.
struct MaxOp : PlainOp {
  template <typename T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::Or(hn::Gt(rhs, lhs), hn::IsNaN(rhs)), rhs, lhs);
    } else {
      return hn::Max(lhs, rhs);
    }
  }
  template <typename T>
  T scalar(T lhs, T rhs) const {
    return rhs > lhs || rhs != rhs ? rhs : lhs;
  }
};

/// The smallest; NaN counts as smaller than anything.
struct MinOp : PlainOp {
  template <typename T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
  }
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::Or(hn::Lt(rhs, lhs), hn::IsNaN(rhs)), rhs, lhs);
    } else {
      return hn::Min(lhs, rhs);
    }
  }
  template <typename T>
  T scalar(T lhs, T rhs) const {
    return rhs < lhs || rhs != rhs ? rhs : lhs;
  }
};

/// Combines up to 64 values (or arrays) in pairs as they come, like the carries of a counter.
template <class Value>
class PairTree {
 public:
  template <class Combine>
  HWY_INLINE void push(Value value, Combine combine) {
    int level = 0;
    for (unsigned bits = pushed_++; (bits & 1u) != 0; bits >>= 1) {
      value = combine(levels_[level++], value);
    }
    levels_[level] = value;
  }
  /// All values combined; at least one was pushed.
  template <class Combine>
  HWY_INLINE Value result(Combine combine) const {
    int level = 0;
    while ((pushed_ >> level & 1u) == 0) ++level;
    Value value = levels_[level];
    for (++level; pushed_ >> level != 0; ++level) {
      if ((pushed_ >> level & 1u) != 0) value = combine(levels_[level], value);
    }
    return value;
  }

 private:
  Value levels_[kLevels];
  unsigned pushed_ = 0;
};

/// Combines the values of the lanes, halving their number each time.
template <class Op, class D, class V>
HWY_INLINE hn::TFromD<D> reduce_lanes(Op op, D d, V v) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_base_of_v<SumOp, Op>) {
    return hn::GetLane(hn::SumOfLanes(d, v));
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, lanes);
    for (size_t width = hn::Lanes(d) / 2; width > 0; width /= 2) {
      for (size_t i = 0; i < width; ++i) lanes[i] = op.scalar(lanes[i], lanes[i + width]);
    }
    return lanes[0];
  }
}

/// One vector that holds the combination of `count` elements, at most kTile.
template <class Op, class D, typename T>
HWY_INLINE hn::Vec<D> reduce_leaf(Op op, D d, const T* from, size_t count) {
  const size_t lanes = hn::Lanes(d);
  const auto identity = hn::Set(d, Op::template identity<hn::TFromD<D>>());
  auto sum0 = identity, sum1 = identity, sum2 = identity, sum3 = identity;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = op(d, sum0, op.mapped(d, load_lanes(d, from + i)));
    sum1 = op(d, sum1, op.mapped(d, load_lanes(d, from + i + lanes)));
    sum2 = op(d, sum2, op.mapped(d, load_lanes(d, from + i + 2 * lanes)));
    sum3 = op(d, sum3, op.mapped(d, load_lanes(d, from + i + 3 * lanes)));
  }
  for (; i + lanes <= count; i += lanes) {
    sum0 = op(d, sum0, op.mapped(d, load_lanes(d, from + i)));
  }
  if (i < count) {
    const auto rest = op.mapped(d, load_first(d, from + i, count - i));
    sum1 = op(d, sum1, hn::IfThenElse(hn::FirstN(d, count - i), rest, identity));
  }
  return op(d, op(d, sum0, sum1), op(d, sum2, sum3));
}

/// The elements that make one output, read tile by tile.
template <typename T>
class ReducedElements {
 public:
  explicit ReducedElements(const LoopDims& reduced)
      : is_dense_(reduced.ndim == 0 || (reduced.ndim == 1 && reduced.in_strides[0] == 1)),
        view_(reduced.view_at(nullptr, dtype_of<T>)),
        range_(view_, LoopShape(view_)) {}

  /// Goes to the elements of another output.
  void start_at(const T* data) {
    data_ = data;
    range_.move_to(data);
  }

  /// `count` elements from `begin` on, at most kTile, there or copied.
  HWY_INLINE const T* read(int64_t begin, int64_t count, AccumulatorOf<T>*) const {
    if (is_dense_) return data_ + begin;
    range_.gather(begin, count, tile_);
    return tile_;
  }

 private:
  const T* data_ = nullptr;
  bool is_dense_;
  TensorView view_;
  StridedRange range_;
  HWY_ALIGN mutable T tile_[kTile];
};

/// Reduces elements [begin, end), at most kChunk of them.
template <class Op, class Source, typename Acc>
HWY_INLINE Acc reduce_chunk(Op op, const Source& source, int64_t begin, int64_t end, Acc* tile) {
  const hn::ScalableTag<Acc> d;
  const auto leaf = [&](int64_t from) HWY_ATTR {
    const int64_t count = std::min(kTile, end - from);
    return reduce_leaf(op, d, source.read(from, count, tile), static_cast<size_t>(count));
  };
  if (end - begin <= kTile) return reduce_lanes(op, d, leaf(begin));
  const auto combine = [&](auto lhs, auto rhs) HWY_ATTR { return op(d, lhs, rhs); };
  PairTree<hn::Vec<decltype(d)>> tree;
  for (int64_t i = begin; i < end; i += kTile) tree.push(leaf(i), combine);
  return reduce_lanes(op, d, tree.result(combine));
}

/// sum[i] = op(sum[i], row[i]) for the columns of a block.
template <class Op, typename Acc>
HWY_INLINE void add_row(Op op, Acc* sum, const Acc* row, size_t count) {
  binary_row(op, static_cast<const Acc*>(sum), row, sum, count, 0);
}

/// Adds the elements of a row as they enter the reduction.
template <class Op>
struct MappedSecond {
  Op op;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, V element) const {
    return op(d, sum, op.mapped(d, element));
  }
};
template <class Op>
struct MappedOnly {
  Op op;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V element) const {
    return op.mapped(d, element);
  }
};

/// sum[i] = op(sum[i], mapped(row[i])) for a row of elements.
template <class Op, typename Acc, typename T>
HWY_INLINE void add_elements(Op op, Acc* sum, const T* row, size_t count) {
  binary_row(MappedSecond<Op>{op}, static_cast<const Acc*>(sum), row, sum, count, 0);
}
template <class Op, typename Acc, typename T>
HWY_INLINE void start_elements(Op op, Acc* sum, const T* row, size_t count) {
  unary_row(MappedOnly<Op>{op}, row, sum, count);
}

/// Dense memory as it is; half types are widened by whoever reads them.
template <typename T>
struct DenseElements {
  const T* data;
  HWY_INLINE const T* read(int64_t begin, int64_t, AccumulatorOf<T>*) const { return data + begin; }
};

/// Dense memory, read as accumulators.
template <typename T>
struct DenseValues {
  const T* data;
  HWY_INLINE const AccumulatorOf<T>* read(int64_t begin, int64_t count,
                                          AccumulatorOf<T>* tile) const {
    if constexpr (is_half_type<T>) {
      widen(data + begin, tile, static_cast<size_t>(count));
      return tile;
    } else {
      (void)count;
      (void)tile;
      return data + begin;
    }
  }
};

/// Reduces any number of elements on this thread: chunks in order.
template <class Op, class Source, typename Acc>
HWY_INLINE Acc reduce_all(Op op, const Source& source, int64_t count, Acc* tile) {
  Acc total = reduce_chunk(op, source, 0, std::min(count, kChunk), tile);
  for (int64_t i = kChunk; i < count; i += kChunk) {
    total = op.scalar(total, reduce_chunk(op, source, i, std::min(count, i + kChunk), tile));
  }
  return total;
}

/// The rows of a block of columns.
template <typename T>
struct ReducedRows {
  const LoopDims& rows;
  const T* data;
  size_t columns;

  HWY_INLINE const T* read(int64_t row, AccumulatorOf<T>*) const {
    return data + rows.in_offset(row);
  }
};

/// Reduces rows [begin, end), at most kChunkRows, into `out`.
template <class Op, class Rows, typename Acc>
void reduce_rows(Op op, const Rows& source, int64_t begin, int64_t end, Acc* out) {
  HWY_ALIGN Acc levels[kLevels + 1][kColumns];
  HWY_ALIGN Acc tile[kColumns];
  const size_t columns = source.columns;
  unsigned leaves = 0;
  for (int64_t row = begin; row < end; ++leaves) {
    // The tree's carries: leaf number `leaves` lands above its trailing one bits.
    int level = 0;
    while ((leaves >> level & 1u) != 0) ++level;
    Acc* sum = levels[level];
    const int64_t stop = std::min(end, row + kRowsPerLeaf);
    start_elements(op, sum, source.read(row++, tile), columns);
    for (; row < stop; ++row) add_elements(op, sum, source.read(row, tile), columns);
    for (int below = 0; below < level; ++below) add_row(op, sum, levels[below], columns);
  }
  int level = 0;
  while ((leaves >> level & 1u) == 0) ++level;
  std::copy_n(levels[level], columns, out);
  for (++level; leaves >> level != 0; ++level) {
    if ((leaves >> level & 1u) != 0) add_row(op, out, levels[level], columns);
  }
}

/// values[0] = all `count` values, `stride` apart, combined in pairs.
template <class Op, typename Acc>
void combine_pairs(Op op, Acc* values, int64_t count, int64_t stride) {
  for (int64_t step = 1; step < count; step *= 2) {
    for (int64_t i = 0; i + step < count; i += 2 * step) {
      values[i * stride] = op.scalar(values[i * stride], values[(i + step) * stride]);
    }
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
