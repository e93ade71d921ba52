// ebb/kernels/cpu/reduce/scan.cpp -- running sums along a dim, from either end.
//
// Real numbers are added up in double, complex ones in complex double. A long dense line is cut
// into pieces of kScanPiece elements: the sums of the pieces come first, then each piece starts
// from the sum of those before it. Lines side by side in memory go together, up to kLines of them.
// Half types are read and written as float32, tile by tile.
#include "ebb/kernels/tables/scan.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/pointwise/cast.h"
#include "ebb/kernels/cpu/reduce/reduce_plan.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kScanPiece = 65536;
constexpr int64_t kLines = 64;

/// What sums are kept in; integers wrap around.
template <typename T>
using SumOf = std::conditional_t<is_complex_number<T>, std::complex<double>,
                                 std::conditional_t<std::is_integral_v<T>, uint64_t, double>>;

template <typename T>
SumOf<T> as_sum(T value) {
  return convert<SumOf<T>>(value);
}

/// At most kTile elements of a half type, `stride` apart, as dense float32 and back.
template <typename T>
void widen_run(const T* from, int64_t stride, int64_t count, float* wide) {
  T raw[kTile];
  gather_run(from, stride, count, sizeof(T), raw);
  const void* in[] = {raw};
  cast_row(dtype_of<T>, DType::float32)(in, wide, count, 0);
}
template <typename T>
void narrow_run(const float* wide, int64_t count, T* to, int64_t stride) {
  T raw[kTile];
  const void* in[] = {wide};
  cast_row(DType::float32, dtype_of<T>)(in, raw, count, 0);
  scatter_run(raw, count, sizeof(T), to, stride);
}

/// `width` lines side by side, each of `count` elements.
template <typename T>
struct ScanLines {
  const T* in;
  T* out;
  int64_t count, width;
  int64_t in_stride, out_stride;  // along the line
  int64_t in_step, out_step;      // from line to line

  void run() const {
    SumOf<T> sums[kLines] = {};
    for (int64_t i = 0; i < count; ++i) {
      const T* const from = in + i * in_stride;
      T* const to = out + i * out_stride;
      if constexpr (is_half_number<T>) {
        float wide[kLines];
        widen_run(from, in_step, width, wide);
        for (int64_t j = 0; j < width; ++j) {
          sums[j] += as_sum(wide[j]);
          wide[j] = convert<float>(sums[j]);
        }
        narrow_run(wide, width, to, out_step);
      } else {
        for (int64_t j = 0; j < width; ++j) {
          sums[j] += as_sum(from[j * in_step]);
          to[j * out_step] = convert<T>(sums[j]);
        }
      }
    }
  }
};

/// One line of `count` elements that starts from `sum`. Returns the sum of all.
template <typename T>
SumOf<T> scan_line(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t count,
                   SumOf<T> sum) {
  if constexpr (is_half_number<T>) {
    float wide[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t part = std::min(kTile, count - i);
      widen_run(in + i * in_stride, in_stride, part, wide);
      sum = scan_line(wide, 1, wide, 1, part, sum);
      narrow_run(wide, part, out + i * out_stride, out_stride);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      sum += as_sum(in[i * in_stride]);
      out[i * out_stride] = convert<T>(sum);
    }
  }
  return sum;
}

constexpr int64_t kTogether = 4;

/// Lines `first` and the kTogether - 1 behind it, in turn: in each line a sum waits for the last,
/// three or four cycles. Integers need one, complex numbers have two sums each.
template <typename T>
void scan_together(const ScanLines<T>& lines, const LoopDims& places, int64_t first) {
  const T* in[kTogether];
  T* out[kTogether];
  for (int64_t j = 0; j < kTogether; ++j) {
    in[j] = lines.in + places.in_offset(first + j);
    out[j] = lines.out + places.out_offset(first + j);
  }
  SumOf<T> sums[kTogether] = {};
  for (int64_t i = 0; i < lines.count; ++i) {
    for (int64_t j = 0; j < kTogether; ++j) {
      sums[j] += as_sum(in[j][i * lines.in_stride]);
      out[j][i * lines.out_stride] = convert<T>(sums[j]);
    }
  }
}

template <typename T>
SumOf<T> sum_of(const T* in, int64_t stride, int64_t count) {
  SumOf<T> sums[4] = {};
  if constexpr (is_half_number<T>) {
    float wide[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t part = std::min(kTile, count - i);
      widen_run(in + i * stride, stride, part, wide);
      sums[0] += sum_of(wide, 1, part);
    }
    return sums[0];
  }
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t j = 0; j < 4; ++j) sums[j] += as_sum(in[(i + j) * stride]);
  }
  for (; i < count; ++i) sums[0] += as_sum(in[i * stride]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Long lines, piece by piece.
template <typename T>
void scan_pieces(const ScanLines<T>& lines, const LoopDims& places) {
  const int64_t pieces = (lines.count + kScanPiece - 1) / kScanPiece;
  const Scratch scratch(static_cast<size_t>(places.count * pieces) * sizeof(SumOf<T>));
  auto* const sums = scratch.as<SumOf<T>>();
  const auto size_of = [&](int64_t piece) {
    return std::min(kScanPiece, lines.count - piece * kScanPiece);
  };
  parallel_for(places.count * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const from = lines.in + places.in_offset(i / pieces);
      sums[i] = sum_of(from + i % pieces * kScanPiece * lines.in_stride, lines.in_stride,
                       size_of(i % pieces));
    }
  });
  for (int64_t line = 0; line < places.count; ++line) {
    SumOf<T> before = {};
    for (int64_t i = line * pieces; i < (line + 1) * pieces; ++i) {
      const SumOf<T> own = sums[i];
      sums[i] = before;
      before += own;
    }
  }
  parallel_for(places.count * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kScanPiece;
      scan_line(lines.in + places.in_offset(i / pieces) + first * lines.in_stride, lines.in_stride,
                lines.out + places.out_offset(i / pieces) + first * lines.out_stride,
                lines.out_stride, size_of(i % pieces), sums[i]);
    }
  });
}

/// Block number `task` of the lines that lie side by side, or one line.
template <typename T>
void scan_block(const ScanLines<T>& lines, const LoopDims& places, int64_t task) {
  const int64_t blocks = (lines.width + kLines - 1) / kLines;
  const int64_t first = task % blocks * kLines;
  ScanLines<T> here = lines;
  here.in += places.in_offset(task / blocks) + first * lines.in_step;
  here.out += places.out_offset(task / blocks) + first * lines.out_step;
  here.width = std::min(kLines, lines.width - first);
  if (here.width > 1) {
    here.run();
  } else {
    scan_line(here.in, here.in_stride, here.out, here.out_stride, here.count, {});
  }
}

/// Lines of any length, some of them together.
template <typename T>
void scan_blocks(const ScanLines<T>& lines, const LoopDims& places) {
  const int64_t blocks = (lines.width + kLines - 1) / kLines;
  const int64_t work = lines.count * std::min(kLines, lines.width);
  parallel_for(places.count * blocks, std::max<int64_t>(1, kGrain / work),
               [&](int64_t begin, int64_t end) {
                 int64_t task = begin;
                 if constexpr (std::is_floating_point_v<T>) {
                   for (; lines.width == 1 && task + kTogether <= end; task += kTogether) {
                     scan_together(lines, places, task);
                   }
                 }
                 for (; task < end; ++task) scan_block(lines, places, task);
               });
}

template <typename T>
void scan_kernel(const Context&, const TensorView& input, int dim, bool reversed,
                 const TensorView& out) {
  if (out.numel == 0) return;
  ScanLines<T> lines{input.as<const T>(), out.as<T>(), 1, 1, 1, 1, 0, 0};
  if (input.ndim > 0) {
    lines.count = input.sizes[dim];
    lines.in_stride = input.strides[dim];
    lines.out_stride = out.strides[dim];
  }
  if (reversed) {
    lines.in += (lines.count - 1) * lines.in_stride;
    lines.out += (lines.count - 1) * lines.out_stride;
    lines.in_stride = -lines.in_stride;
    lines.out_stride = -lines.out_stride;
  }
  // Lines lie side by side in the innermost other dim, unless each is dense itself.
  const bool is_dense = std::abs(lines.in_stride) == 1;
  int side = is_dense ? -1 : input.ndim - 1;
  if (side == dim) --side;
  LoopDims places;
  for (int i = 0; i < input.ndim; ++i) {
    if (i != dim && i != side) places.push_back(input.sizes[i], input.strides[i], out.strides[i]);
  }
  if (side >= 0) {
    lines.width = input.sizes[side];
    lines.in_step = input.strides[side];
    lines.out_step = out.strides[side];
  }
  if (lines.width == 1 && lines.count > kScanPiece) return scan_pieces(lines, places);
  scan_blocks(lines, places);
}

template <typename... T>
void set() {
  (scan_kernels.set_cpu(dtype_of<T>, &scan_kernel<T>), ...);
}

}  // namespace

void fill_scan() {
  set<int64_t, Half, BFloat16, float, double, std::complex<float>, std::complex<double>>();
}

}  // namespace ebb::kernels::cpu
