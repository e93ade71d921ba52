// ebb/kernels/cpu/index/scatter.h -- out[index] = combine(out[index], src) along one dim, bit by
// bit the same for any number of threads: Scatter and run_scatter().
//
// What one element of out receives always comes in the order of the index. Threads therefore share
// out, never the index: each takes some of the other dims or, where there are none worth splitting,
// a range of positions along dim, and passes over indices outside its range. An index out of
// range is noted and passed over (checked_index.h).
#pragma once

#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/pointwise/combine.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"

namespace ebb::kernels::cpu {

/// Positions [low, low + size) along dim.
struct Range {
  int64_t low, size;
  bool holds(int64_t index) const {
    return static_cast<uint64_t>(index) - static_cast<uint64_t>(low) < static_cast<uint64_t>(size);
  }
};

/// The loop over src's sizes, in row-major order.
template <class Combine>
struct Scatter {
  using T = typename Combine::Element;

  const int64_t* index = nullptr;
  const T* src = nullptr;
  T* out = nullptr;
  int ndim = 1;
  int64_t sizes[kMaxDims] = {1};
  int64_t index_strides[kMaxDims] = {};
  int64_t src_strides[kMaxDims] = {};
  int64_t out_strides[kMaxDims] = {};  // 0 along dim
  int64_t dim_stride = 0;              // of out along dim
  int64_t positions = 1;               // of out along dim
  Combine combine;
  FirstWrong* wrong;

  Scatter(const TensorView& indices, const int64_t* strides, const TensorView& source, int dim,
          const TensorView& target, Combine how, FirstWrong* noted)
      : index(indices.as<const int64_t>()),
        src(source.as<const T>()),
        out(target.as<T>()),
        combine(how),
        wrong(noted) {
    if (source.ndim == 0) return;
    ndim = source.ndim;
    dim_stride = target.strides[dim];
    positions = target.sizes[dim];
    for (int i = 0; i < ndim; ++i) {
      sizes[i] = source.sizes[i];
      index_strides[i] = strides[i];
      src_strides[i] = source.strides[i];
      out_strides[i] = i == dim ? 0 : target.strides[i];
    }
  }

  /// The innermost loop over elements that may hit any position.
  void join_row(const int64_t* at, const T* from, T* to) const {
    const int last = ndim - 1;
    const int64_t count = sizes[last], stride = dim_stride, end = positions;
    const int64_t index_step = index_strides[last], src_step = src_strides[last];
    const int64_t out_step = out_strides[last];
    const Combine join = combine;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t target = read_once(at + j * index_step);
      if (!is_index(target, end)) [[unlikely]]
        return wrong->note(target);
      T& place = to[target * stride + j * out_step];
      place = join(place, from[j * src_step]);
    }
  }
  /// The same where some do not: first picks those that do, without a branch per element.
  void join_row_in(const Range& range, const int64_t* at, const T* from, T* to) const {
    const int last = ndim - 1;
    int64_t picked[kTile];
    int64_t targets[kTile];
    bool is_wrong = false;
    for (int64_t begin = 0; begin < sizes[last]; begin += kTile) {
      const int64_t end = std::min(sizes[last], begin + kTile);
      int64_t count = 0;
      for (int64_t j = begin; j < end; ++j) {
        picked[count] = j;
        targets[count] = read_once(at + j * index_strides[last]);
        is_wrong |= !is_index(targets[count], positions);
        count += range.holds(targets[count]);
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t j = picked[i];
        T& place = to[targets[i] * dim_stride + j * out_strides[last]];
        place = combine(place, from[j * src_strides[last]]);
      }
    }
    if (is_wrong) wrong->note(-1);
  }

  void run(const Range& range, bool is_whole) const {
    int64_t at_dim[kMaxDims] = {};
    const int64_t* at = index;
    const T* from = src;
    T* to = out;
    while (true) {
      is_whole ? join_row(at, from, to) : join_row_in(range, at, from, to);
      int dim = ndim - 2;
      for (; dim >= 0; --dim) {
        at += index_strides[dim];
        from += src_strides[dim];
        to += out_strides[dim];
        if (++at_dim[dim] < sizes[dim]) break;
        at -= index_strides[dim] * sizes[dim];
        from -= src_strides[dim] * sizes[dim];
        to -= out_strides[dim] * sizes[dim];
        at_dim[dim] = 0;
      }
      if (dim < 0) return;
    }
  }

  /// Only positions [begin, end) of dim `dim`.
  Scatter narrowed(int dim, int64_t begin, int64_t end) const {
    Scatter part = *this;
    part.index += begin * index_strides[dim];
    part.src += begin * src_strides[dim];
    part.out += begin * out_strides[dim];
    part.sizes[dim] = end - begin;
    return part;
  }
};

/// Splits the loop over threads. The result does not depend on how.
template <class Combine>
void run_scatter(const Scatter<Combine>& loop, int dim, int64_t count, int64_t positions) {
  const Range whole{0, positions};
  int widest = -1;
  for (int i = 0; i < loop.ndim; ++i) {
    if (i != dim && (widest < 0 || loop.sizes[i] > loop.sizes[widest])) widest = i;
  }
  if (count <= kGrain || num_threads() == 1) return loop.run(whole, true);
  const int64_t width = widest < 0 ? 1 : loop.sizes[widest];
  if (width >= 64) {
    const int64_t per_piece = std::max<int64_t>(16, (width + 31) / 32);
    parallel_for(width, per_piece, [&](int64_t begin, int64_t end) {
      loop.narrowed(widest, begin, end).run(whole, true);
    });
    return;
  }
  const int64_t per_piece = std::max<int64_t>(1, (positions - 1) / num_threads() + 1);
  parallel_for(positions, per_piece, [&](int64_t begin, int64_t end) {
    loop.run({begin, end - begin}, false);
  });
}

}  // namespace ebb::kernels::cpu
