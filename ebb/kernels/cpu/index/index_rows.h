// ebb/kernels/cpu/index/index_rows.h -- index_add and index_copy of dense rows, bit by bit the same
// for any number of threads: RowsByTarget.
//
// The index is sorted once, stably: the sources of one target row stand in a run, in their order. A
// piece of work is some of these runs, so each row of out belongs to one piece, stays in the cache
// while all its sources are added, and is read and written once for every four of them. Half types
// add up in a tile of float32 and join the row once.
#pragma once

#include <algorithm>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/index/scatter.h"
#include "ebb/kernels/cpu/pointwise/cast.h"
#include "ebb/kernels/cpu/simd/loops.h"

namespace ebb::kernels::cpu {

/// A copy of an index, its positions sorted by what they point at, and where each run of equals
/// begins. No runs if some index is not below `positions`, which is noted.
struct IndexOrder {
  CountedVector<int64_t> targets;
  CountedVector<int64_t> sources;
  CountedVector<int64_t> runs;  // begin of each run in `sources`, and the end of the last

  IndexOrder(const int64_t* index, int64_t stride, int64_t count, int64_t positions,
             FirstWrong* wrong);
  /// The first run that begins at or behind `source`.
  size_t run_at(int64_t source) const {
    return static_cast<size_t>(std::lower_bound(runs.begin(), runs.end(), source) - runs.begin());
  }
};

/// One call: `outer` times, rows of src [count, width] join rows of out. Both have dense rows.
template <class Combine>
class RowsByTarget {
 public:
  using T = typename Combine::Element;

  /// `loop` has ndim 2 or 3 and dim is the last but one.
  RowsByTarget(const Scatter<Combine>& loop, int dim)
      : loop_(loop),
        dim_(dim),
        outer_(dim == 0 ? 1 : loop.sizes[0]),
        count_(loop.sizes[dim]),
        width_(loop.sizes[dim + 1]) {}

  void run(int64_t positions) const {
    if (!kIsHalf && outer_ * count_ * width_ <= kGrain) return run_in_order(positions);
    // Sorting narrow rows costs more than a few threads gain by sharing them.
    if (!kIsHalf && width_ * num_threads() < kNarrow) {
      if (are_indices(positions)) run_in_order(positions);
      return;
    }
    const IndexOrder order(loop_.index, loop_.index_strides[dim_], count_, positions, loop_.wrong);
    if (order.runs.empty()) return;
    const size_t runs = order.runs.size() - 1;
    // Pieces of about kGrain elements of src; of very wide rows, parts of rows.
    const int64_t per_piece = std::max<int64_t>(1, kGrain / width_);
    const int64_t parts = is_skewed(order) ? (width_ - 1) / kPart + 1 : 1;
    const int64_t pieces = (count_ - 1) / per_piece + 1;
    parallel_for(outer_ * pieces * parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t piece = task / parts % pieces;
        const int64_t begin = task % parts * kPart;
        const int64_t end = parts == 1 ? width_ : std::min(width_, begin + kPart);
        const size_t to = std::min(runs, order.run_at((piece + 1) * per_piece));
        for (size_t run = order.run_at(piece * per_piece); run < to; ++run) {
          join_run(order, run, task / parts / pieces, begin, end);
        }
      }
    });
  }

 private:
  static constexpr int64_t kPart = 512;
  static constexpr int64_t kNarrow = 128;
  static constexpr bool kIsHalf = is_half_number<T>;

  /// Whether one row of out gets so many sources that it would keep one thread busy alone.
  bool is_skewed(const IndexOrder& order) const {
    int64_t longest = 0;
    for (size_t i = 1; i < order.runs.size(); ++i) {
      longest = std::max(longest, order.runs[i] - order.runs[i - 1]);
    }
    return longest > count_ / 4 && width_ >= 2 * kPart;
  }

  const T* source_row(int64_t outer, int64_t i) const {
    return loop_.src + outer * (dim_ == 0 ? 0 : loop_.src_strides[0]) + i * loop_.src_strides[dim_];
  }
  T* target_row(int64_t outer, int64_t target) const {
    return loop_.out + outer * (dim_ == 0 ? 0 : loop_.out_strides[0]) + target * loop_.dim_stride;
  }

  /// Whether no index is wrong; else the first that is gets noted, and out stays as it is.
  bool are_indices(int64_t positions) const {
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t target = read_once(loop_.index + i * loop_.index_strides[dim_]);
      if (is_index(target, positions)) continue;
      loop_.wrong->note(target);
      return false;
    }
    return true;
  }

  void run_in_order(int64_t positions) const {
    for (int64_t outer = 0; outer < outer_; ++outer) {
      for (int64_t i = 0; i < count_; ++i) {
        const int64_t target = read_once(loop_.index + i * loop_.index_strides[dim_]);
        if (!is_index(target, positions)) return loop_.wrong->note(target);
        join(target_row(outer, target), source_row(outer, i), 0, width_);
      }
    }
  }

  /// All sources of one row of out, columns [begin, end).
  void join_run(const IndexOrder& order, size_t run, int64_t outer, int64_t begin,
                int64_t end) const {
    const int64_t* const sources = order.sources.data();
    int64_t at = order.runs[run];
    const int64_t last = order.runs[run + 1];
    T* const to = target_row(outer, order.targets[static_cast<size_t>(sources[at])]);
    if constexpr (kIsHalf) {
      for (int64_t j = begin; j < end; j += kTile) {
        join_tile(to + j, sources + at, sources + last, outer, j, std::min(kTile, end - j));
      }
      return;
    } else if constexpr (Combine::kKeepsLastOnly) {
      at = last - 1;
    } else {
      for (; at + 4 <= last; at += 4) {
        const T* from[4];
        for (int i = 0; i < 4; ++i) from[i] = source_row(outer, sources[at + i]);
        join_four(to, from, begin, end);
      }
    }
    for (; at < last; ++at) join(to, source_row(outer, sources[at]), begin, end);
  }

  /// Elements [begin, begin + count) of all these sources.
  void join_tile(T* to, const int64_t* source, const int64_t* last, int64_t outer, int64_t begin,
                 int64_t count) const {
    const RowFunction widen = cast_row(dtype_of<T>, DType::float32);
    const float factor = loop_.combine.has_factor ? static_cast<float>(loop_.combine.factor) : 1.0f;
    float sums[kTile], wide[kTile];
    std::fill_n(sums, count, -0.0f);  // what changes no number that it is added to
    for (; source != last; ++source) {
      const void* const from = source_row(outer, *source) + begin;
      widen(&from, wide, count, kNoSplat);
      for (int64_t j = 0; j < count; ++j) sums[j] += factor * wide[j];
    }
    const void* in = to;
    widen(&in, wide, count, kNoSplat);
    for (int64_t j = 0; j < count; ++j) sums[j] += wide[j];
    in = sums;
    cast_row(DType::float32, dtype_of<T>)(&in, to, count, kNoSplat);
  }
  void join(T* __restrict to, const T* __restrict from, int64_t begin, int64_t end) const {
    const Combine combine = loop_.combine;
    for (int64_t j = begin; j < end; ++j) to[j] = combine(to[j], from[j]);
  }
  void join_four(T* __restrict to, const T* const* from, int64_t begin, int64_t end) const {
    const Combine combine = loop_.combine;
    const T* __restrict a = from[0];
    const T* __restrict b = from[1];
    const T* __restrict c = from[2];
    const T* __restrict d = from[3];
    for (int64_t j = begin; j < end; ++j) {
      to[j] = combine(combine(combine(combine(to[j], a[j]), b[j]), c[j]), d[j]);
    }
  }

  const Scatter<Combine>& loop_;
  int dim_;
  int64_t outer_, count_, width_;
};

}  // namespace ebb::kernels::cpu
