// ebb/kernels/cpu/reduce/max_dim.cpp -- the largest or smallest element along a dim and its first
// index.
//
// Along a dense line, the element is found first and then where it stands, both with vectors; a
// long line is cut into pieces of kChunk elements, joined in order. Along other dims neighbouring
// lines are scanned together, so that memory is read in its own order; keeping an index beside each
// value is left to the compiler there.
#include "ebb/kernels/tables/max_dim.h"

#include <algorithm>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/tables/min_dim.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kLines = 64;  // scanned together

/// Half types are compared as float32, bool as uint8.
template <typename T>
using KeyOf = std::conditional_t<std::is_same_v<T, bool>, uint8_t, AccumulatorOf<T>>;

template <typename T>
bool is_nan(T value) {
  return value != value;
}

/// Whether `value` replaces `best`, which stands before it.
template <class Op, typename Key>
bool takes_over(Key value, Key best) {
  const bool is_better = std::is_same_v<Op, MaxOp> ? value > best : value < best;
  return is_better || (is_nan(value) && !is_nan(best));
}

/// Number of the first of `count` elements that is `wanted` (or NaN, if that is), or `count`.
template <typename T, typename Key>
HWY_INLINE int64_t find_first(const T* from, int64_t count, Key wanted) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto key = hn::Set(d, wanted);
  int64_t i = 0;
  if (is_nan(wanted)) {
    while (i < count && !is_nan(static_cast<Key>(from[i]))) ++i;
    return i;
  }
  for (; i + lanes <= count; i += lanes) {
    const intptr_t at = hn::FindFirstTrue(d, hn::Eq(load_lanes(d, from + i), key));
    if (at >= 0) return i + at;
  }
  while (i < count && static_cast<Key>(from[i]) != wanted) ++i;
  return i;
}

template <typename Key>
struct Found {
  Key value;
  int64_t index;
};

/// The best of at most kChunk dense elements.
template <class Op, typename T>
Found<KeyOf<T>> best_of_dense(const T* from, int64_t count) {
  using Key = KeyOf<T>;
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  const auto* elements = reinterpret_cast<const Element*>(from);
  HWY_ALIGN Key tile[kTile];
  const Key best = reduce_chunk(Op{}, DenseElements<Element>{elements}, 0, count, tile);
  return {best, find_first(elements, count, best)};
}

/// Everything but the geometry of a line: the places that lines start at and are written to.
struct LinePlaces {
  LoopDims values;   // strides of input and out
  LoopDims indices;  // strides of indices, as the input's
};

/// Dense lines, each made of pieces of kChunk elements.
template <class Op, typename T>
void scan_dense(const LinePlaces& places, int64_t count, const T* in, T* out, int64_t* indices) {
  using Key = KeyOf<T>;
  const int64_t chunks = (count + kChunk - 1) / kChunk;
  const int64_t lines = places.values.count;
  const Scratch scratch(static_cast<size_t>(lines * chunks) * sizeof(Found<Key>));
  auto* const parts = scratch.as<Found<Key>>();
  parallel_for(lines * chunks, std::max<int64_t>(1, kGrain / count),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % chunks * kChunk;
                   const T* from = in + places.values.in_offset(i / chunks) + first;
                   parts[i] = best_of_dense<Op>(from, std::min(kChunk, count - first));
                   parts[i].index += first;
                 }
               });
  for (int64_t line = 0; line < lines; ++line) {
    Found<Key> best = parts[line * chunks];
    for (int64_t i = 1; i < chunks; ++i) {
      const Found<Key>& next = parts[line * chunks + i];
      if (takes_over<Op>(next.value, best.value)) best = next;
    }
    out[places.values.out_offset(line)] = in[places.values.in_offset(line) + best.index];
    indices[places.indices.in_offset(line)] = best.index;
  }
}

/// Lines side by side.
template <class Op, typename T>
struct SideBySide {
  const T* in;
  T* out;
  int64_t* indices;
  int64_t count;                          // elements of a line
  int64_t stride;                         // between them
  int64_t width;                          // lines side by side
  int64_t in_step, out_step, index_step;  // from line to line

  static KeyOf<T> key(T value) { return static_cast<KeyOf<T>>(value); }

  /// Lines [begin, end), at most kLines.
  void run(int64_t begin, int64_t end) const {
    using Key = KeyOf<T>;
    Key best[kLines];
    int64_t at[kLines];
    const int64_t lines = end - begin;
    const T* from = in + begin * in_step;
    for (int64_t j = 0; j < lines; ++j) {
      best[j] = key(from[j * in_step]);
      at[j] = 0;
    }
    for (int64_t i = 1; i < count; ++i) {
      from += stride;
      for (int64_t j = 0; j < lines; ++j) {
        const Key value = key(from[j * in_step]);
        const bool takes = takes_over<Op>(value, best[j]);
        best[j] = takes ? value : best[j];
        at[j] = takes ? i : at[j];
      }
    }
    for (int64_t j = 0; j < lines; ++j) {
      const int64_t line = begin + j;
      out[line * out_step] = in[line * in_step + at[j] * stride];
      indices[line * index_step] = at[j];
    }
  }
};

template <class Op, typename T>
void scan_side_by_side(const LinePlaces& places, const SideBySide<Op, T>& lines) {
  const int64_t blocks = (lines.width + kLines - 1) / kLines;
  const int64_t work = lines.count * std::min(kLines, lines.width);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  parallel_for(places.values.count * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / blocks, first = task % blocks * kLines;
      SideBySide<Op, T> here = lines;
      here.in += places.values.in_offset(outer);
      here.out += places.values.out_offset(outer);
      here.indices += places.indices.in_offset(outer);
      here.run(first, std::min(lines.width, first + kLines));
    }
  });
}

template <class Op, typename T>
void extremum_kernel(const Context&, const TensorView& input, int dim, const TensorView& out,
                     const TensorView& indices) {
  if (out.numel == 0) return;
  SideBySide<Op, T> lines{
      input.as<const T>(), out.as<T>(), indices.as<int64_t>(), 1, 1, 1, 0, 0, 0};
  if (input.ndim > 0) {
    lines.count = input.sizes[dim];
    lines.stride = input.strides[dim];
  }
  const bool is_dense = lines.stride == 1 || lines.count == 1;
  // The innermost other dim is the one that lines lie side by side in.
  int side = is_dense ? -1 : input.ndim - 1;
  if (side == dim) --side;
  LinePlaces places;
  for (int i = 0; i < input.ndim; ++i) {
    if (i == dim || i == side) continue;
    places.values.push_back(input.sizes[i], input.strides[i], out.strides[i]);
    places.indices.push_back(input.sizes[i], indices.strides[i], 0);
  }
  if (is_dense) {
    return scan_dense<Op, T>(places, lines.count, lines.in, lines.out, lines.indices);
  }
  if (side >= 0) {
    lines.width = input.sizes[side];
    lines.in_step = input.strides[side];
    lines.out_step = out.strides[side];
    lines.index_step = indices.strides[side];
  }
  scan_side_by_side(places, lines);
}

template <typename... T>
void set() {
  (max_dim_kernels.set_cpu(dtype_of<T>, &extremum_kernel<MaxOp, T>), ...);
  (min_dim_kernels.set_cpu(dtype_of<T>, &extremum_kernel<MinOp, T>), ...);
}

}  // namespace

void fill_max_dim() {
  set<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>();
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
