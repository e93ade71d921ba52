// ebb/kernels/cpu/max_dim.cpp -- the largest element along a dim and its first index.
//
// Keeping an index beside each value does not vectorise well; neighbouring lines are scanned
// together instead, so that memory is read in its own order whichever dim is reduced.
#include <algorithm>
#include <type_traits>

#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/convert.h"
#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/reduce_plan.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kLines = 64;  // scanned together

/// Half types are compared as float32.
template <typename T>
auto key_of(T value) {
  if constexpr (is_half_number<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// Whether `value` replaces `best`: NaN is larger than anything but NaN.
template <typename T>
bool is_larger(T value, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    return value > best || (value != value && best == best);
  } else {
    return value > best;
  }
}

template <typename T>
struct MaxLines {
  const T* in;
  T* out;
  int64_t* indices;
  int64_t count;                          // elements of a line
  int64_t stride;                         // between them
  int64_t width;                          // lines side by side
  int64_t in_step, out_step, index_step;  // from line to line

  /// Lines [begin, end), at most kLines.
  void run(int64_t begin, int64_t end) const {
    using Key = decltype(key_of(T{}));
    Key best[kLines];
    int64_t at[kLines];
    const int64_t lines = end - begin;
    const T* from = in + begin * in_step;
    for (int64_t j = 0; j < lines; ++j) {
      best[j] = key_of(from[j * in_step]);
      at[j] = 0;
    }
    for (int64_t i = 1; i < count; ++i) {
      from += stride;
      for (int64_t j = 0; j < lines; ++j) {
        const Key value = key_of(from[j * in_step]);
        const bool takes = is_larger(value, best[j]);
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

template <typename T>
void max_dim_kernel(const Context&, const TensorView& input, int dim, const TensorView& out,
                    const TensorView& indices) {
  if (out.numel == 0) return;
  LoopDims places, index_places;  // all other dims, once for in and out and once for indices
  MaxLines<T> lines{input.as<const T>(), out.as<T>(), indices.as<int64_t>(), 1, 0, 1, 0, 0, 0};
  if (input.ndim > 0) {
    lines.count = input.sizes[dim];
    lines.stride = input.strides[dim];
  }
  // The innermost other dim is the one that lines lie side by side in.
  int side = input.ndim - 1;
  if (side == dim) --side;
  for (int i = 0; i < input.ndim; ++i) {
    if (i == dim || i == side) continue;
    places.push_back(input.sizes[i], input.strides[i], out.strides[i]);
    index_places.push_back(input.sizes[i], indices.strides[i], 0);
  }
  if (side >= 0) {
    lines.width = input.sizes[side];
    lines.in_step = input.strides[side];
    lines.out_step = out.strides[side];
    lines.index_step = indices.strides[side];
  }
  const int64_t blocks = (lines.width + kLines - 1) / kLines;
  const int64_t work = lines.count * std::min(kLines, lines.width);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  parallel_for(places.count * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / blocks, first = task % blocks * kLines;
      MaxLines<T> here = lines;
      here.in += places.in_offset(outer);
      here.out += places.out_offset(outer);
      here.indices += index_places.in_offset(outer);
      here.run(first, std::min(lines.width, first + kLines));
    }
  });
}

template <typename T>
void set() {
  max_dim_kernels.set_cpu(dtype_of<T>, &max_dim_kernel<T>);
}

}  // namespace

void fill_max_dim() {
  set<bool>();
  set<uint8_t>();
  set<int8_t>();
  set<int16_t>();
  set<int32_t>();
  set<int64_t>();
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
}

}  // namespace ebb::kernels::cpu
