// ebb/kernels/cpu/index/scatter.h -- out[index] = combine(out[index], src) along one dim, bit by
// bit the same for any number of threads: Scatter and run_scatter().
//
// What one element of out receives always comes in the order of the index. Threads therefore share
// out, never the index: each takes some of the other dims or, where there are none worth splitting,
// a range of positions along dim, and passes over indices outside its range. An index out of
// range is noted and passed over (checked_index.h). Half types are joined in float32: JoinsApart.
#pragma once

#include <algorithm>
#include <utility>

#include "ebb/core/runtime/allocator.h"
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
  /// Calls visit(j, target) for those of a row that hit a range: picked without a branch each.
  template <class Visit>
  void visit_row_in(const Range& range, const int64_t* at, const Visit& visit) const {
    const int last = ndim - 1;
    int64_t picked[kTile];
    int64_t targets[kTile];
    bool is_wrong = false;
    for (int64_t begin = 0; begin < sizes[last]; begin += kTile) {
      const int64_t end = std::min(sizes[last], begin + kTile);
      int64_t count = 0;
      for (int64_t j = begin; j < end; ++j) {
        const int64_t target = read_once(at + j * index_strides[last]);
        picked[count] = j;
        targets[count] = target;
        is_wrong |= !is_index(target, positions);
        count += range.holds(target);
      }
      for (int64_t i = 0; i < count; ++i) visit(picked[i], targets[i]);
    }
    if (is_wrong) wrong->note(-1);
  }
  void join_row_in(const Range& range, const int64_t* at, const T* from, T* to) const {
    const int last = ndim - 1;
    visit_row_in(range, at, [&](int64_t j, int64_t target) {
      T& place = to[target * dim_stride + j * out_strides[last]];
      place = combine(place, from[j * src_strides[last]]);
    });
  }

  /// Calls row(at, from, to, places) for all rows; places count along all dims.
  template <class Row>
  void for_each_row(const Row& row) const {
    int64_t places[kMaxDims] = {};
    const int64_t* at = index;
    const T* from = src;
    T* to = out;
    while (true) {
      row(at, from, to, places);
      int each = ndim - 2;
      for (; each >= 0; --each) {
        at += index_strides[each];
        from += src_strides[each];
        to += out_strides[each];
        if (++places[each] < sizes[each]) break;
        at -= index_strides[each] * sizes[each];
        from -= src_strides[each] * sizes[each];
        to -= out_strides[each] * sizes[each];
        places[each] = 0;
      }
      if (each < 0) return;
    }
  }

  void run(const Range& range, bool is_whole) const {
    for_each_row([&](const int64_t* at, const T* from, T* to, const int64_t*) {
      is_whole ? join_row(at, from, to) : join_row_in(range, at, from, to);
    });
  }

  /// Only positions [begin, end) of dim `each`.
  Scatter narrowed(int each, int64_t begin, int64_t end) const {
    Scatter part = *this;
    part.index += begin * index_strides[each];
    part.src += begin * src_strides[each];
    part.out += begin * out_strides[each];
    part.sizes[each] = end - begin;
    return part;
  }
  /// The dim with the most positions but `dim`; -1 if there is no other.
  int widest_but(int dim) const {
    int widest = -1;
    for (int i = 0; i < ndim; ++i) {
      if (i != dim && (widest < 0 || sizes[i] > sizes[widest])) widest = i;
    }
    return widest;
  }
};

/// How half types are joined in float32: from start(), and once to what was in out by finish(),
/// which may be called again for the same place.
template <class Combine>
struct InFloat;

template <typename T>
struct InFloat<Add<T>> {
  float factor;

  explicit InFloat(const Add<T>& add)
      : factor(add.has_factor ? static_cast<float>(add.factor) : 1.0f) {}
  static float start(T) { return -0.0f; }  // changes no number that it is added to
  float join(float sum, T from) const { return sum + factor * static_cast<float>(from); }
  static T finish(T to, float& sum) {
    return T(static_cast<float>(to) + std::exchange(sum, -0.0f));
  }
};

template <typename T>
struct InFloat<Multiply<T>> {
  explicit InFloat(const Multiply<T>&) {}
  static float start(T to) { return static_cast<float>(to); }
  static float join(float product, T from) { return product * static_cast<float>(from); }
  static T finish(T, const float& product) { return T(product); }
};

/// Joins half types in float32. Of out, only so much at a time that these numbers stay few; of
/// these, only what some index names is touched.
template <class Combine>
class JoinsApart {
 public:
  JoinsApart(const Scatter<Combine>& loop, int dim) : loop_(loop), dim_(dim) {}

  void run(const Range& range) const {
    const int wide = loop_.widest_but(dim_);
    const int64_t width = wide < 0 ? 1 : loop_.sizes[wide];
    const int64_t reach = std::clamp<int64_t>(range.size, 1, kMostSums);
    const int64_t columns = std::min(width, std::max<int64_t>(1, kMostSums / reach));
    const Scratch scratch(static_cast<size_t>(reach * columns) * sizeof(float));
    int64_t planes = 1;
    for (int i = 0; i < loop_.ndim; ++i) planes *= i == dim_ || i == wide ? 1 : loop_.sizes[i];
    for (int64_t number = 0; number < planes; ++number) {
      const Scatter<Combine> plane = plane_of(number, wide);
      for (int64_t begin = 0; begin < width; begin += columns) {
        const int64_t end = std::min(width, begin + columns);
        const Scatter<Combine> part = wide < 0 ? plane : plane.narrowed(wide, begin, end);
        int64_t low = 0;
        do {  // once at least: where there is no position, every index is wrong
          const Range some{range.low + low, std::min(reach, range.size - low)};
          sum(part, some, wide, scratch.as<float>());
          low += reach;
        } while (low < range.size);
      }
    }
  }

 private:
  using T = typename Combine::Element;

  static constexpr int64_t kMostSums = int64_t{1} << 20;

  /// One position of each dim but dim and `wide`.
  Scatter<Combine> plane_of(int64_t number, int wide) const {
    Scatter<Combine> plane = loop_;
    for (int i = loop_.ndim - 1; i >= 0; --i) {
      if (i == dim_ || i == wide) continue;
      const int64_t at = number % loop_.sizes[i];
      number /= loop_.sizes[i];
      plane = plane.narrowed(i, at, at + 1);
    }
    return plane;
  }

  void sum(const Scatter<Combine>& part, const Range& range, int wide, float* sums) const {
    // Sums lie as out does: dim outside `wide` or within.
    const int64_t dim_step = dim_ < wide ? part.sizes[wide] : 1;
    const int64_t wide_step = dim_ < wide ? 1 : range.size;
    const auto sum_at = [=](int64_t target, int64_t column) -> float& {
      return sums[(target - range.low) * dim_step + column * wide_step];
    };
    const InFloat<Combine> how(part.combine);
    walk(part, range, wide, [&](int64_t target, int64_t column, const T&, T& to) {
      sum_at(target, column) = how.start(to);
    });
    walk(part, range, wide, [&](int64_t target, int64_t column, const T& from, T&) {
      float& sum = sum_at(target, column);
      sum = how.join(sum, from);
    });
    walk(part, range, wide, [&](int64_t target, int64_t column, const T&, T& to) {
      to = how.finish(to, sum_at(target, column));
    });
  }

  /// Calls visit(target, position along `wide`, from, to) for elements whose place is in range.
  template <class Visit>
  static void walk(const Scatter<Combine>& part, const Range& range, int wide, const Visit& visit) {
    const int last = part.ndim - 1;
    const int64_t column_step = last == wide ? 1 : 0;
    part.for_each_row([&](const int64_t* at, const T* from, T* to, const int64_t* places) {
      const int64_t first = wide < 0 || wide == last ? 0 : places[wide];
      const auto visit_one = [&](int64_t j, int64_t target) {
        visit(target, first + j * column_step, from[j * part.src_strides[last]],
              to[target * part.dim_stride + j * part.out_strides[last]]);
      };
      if (range.size < part.positions) return part.visit_row_in(range, at, visit_one);
      for (int64_t j = 0; j < part.sizes[last]; ++j) {
        const int64_t target = read_once(at + j * part.index_strides[last]);
        if (!is_index(target, part.positions)) [[unlikely]]
          return part.wrong->note(target);
        visit_one(j, target);
      }
    });
  }

  const Scatter<Combine>& loop_;
  int dim_;
};

/// Runs the loop for places in a range; `is_whole` if no others are named.
template <class Combine>
void run_range(const Scatter<Combine>& loop, int dim, const Range& range, bool is_whole) {
  using T = typename Combine::Element;
  if constexpr (is_half_number<T> && requires { sizeof(InFloat<Combine>); }) {
    JoinsApart(loop, dim).run(range);
  } else {
    loop.run(range, is_whole);
  }
}

constexpr int64_t kCachedBytes = int64_t{1} << 20;

/// Splits the loop over threads. The result does not depend on how.
template <class Combine>
void run_scatter(const Scatter<Combine>& loop, int dim, int64_t count, int64_t positions) {
  const Range whole{0, positions};
  const int widest = loop.widest_but(dim);
  const bool is_small = count <= kGrain || positions == 0;  // of no position, every index is wrong
  if (is_small || num_threads() == 1) return run_range(loop, dim, whole, true);
  const int64_t width = widest < 0 ? 1 : loop.sizes[widest];
  if (width >= 64) {
    const int64_t per_piece = std::max<int64_t>(16, (width + 31) / 32);
    parallel_for(width, per_piece, [&](int64_t begin, int64_t end) {
      run_range(loop.narrowed(widest, begin, end), dim, whole, true);
    });
    return;
  }
  // Each thread reads all indices to find its own: more than joining costs while out is in a cache.
  const auto bytes = positions * width * static_cast<int64_t>(sizeof(typename Combine::Element));
  if (bytes <= kCachedBytes) return run_range(loop, dim, whole, true);
  const int64_t per_piece = std::max<int64_t>(1, (positions - 1) / num_threads() + 1);
  parallel_for(positions, per_piece, [&](int64_t begin, int64_t end) {
    run_range(loop, dim, {begin, end - begin}, false);
  });
}

template <class Combine>
void scatter_with(const TensorView& index, const TensorView& src, int dim, const TensorView& out,
                  Combine combine) {
  if (src.numel == 0) return;
  FirstWrong wrong;
  const Scatter<Combine> loop(index, index.strides, src, dim, out, combine, &wrong);
  run_scatter(loop, dim, src.numel, out.ndim == 0 ? 1 : out.sizes[dim]);
  wrong.throw_if_found();
}

}  // namespace ebb::kernels::cpu
