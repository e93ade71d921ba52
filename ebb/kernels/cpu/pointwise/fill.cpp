// ebb/kernels/cpu/pointwise/fill.cpp -- fill: every element one number; arange, linspace: evenly
// spaced numbers.
#include "ebb/kernels/tables/fill.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "ebb/kernels/tables/arange.h"
#include "ebb/kernels/tables/linspace.h"

namespace ebb::kernels::cpu {
namespace {

/// The number as one element. Integers wrap and floats truncate: the op layer checked the range.
template <typename T>
T element_of(const Scalar& value) {
  switch (value.kind()) {
    case Kind::boolean:
    case Kind::integer: return convert<T>(value.to_int());
    case Kind::floating: return convert<T>(value.to_double());
    case Kind::complex: break;
  }
  return convert<T>(value.to_complex());
}

/// `element` repeated in `count` places of `item` bytes.
void fill_dense(const char* element, size_t item, void* out, int64_t count) {
  const bool is_zero = std::all_of(element, element + item, [](char byte) { return byte == 0; });
  if (is_zero || item == 1) {
    std::memset(out, element[0], static_cast<size_t>(count) * item);
    return;
  }
  gather_run(element, 0, count, static_cast<int64_t>(item), out);
}

void fill_strided(const char* element, size_t item, const TensorView& out) {
  const LoopShape shape(out);
  const StridedRange range(out, shape);
  alignas(64) char tile[kTileBytes];
  gather_run(element, 0, kTile, static_cast<int64_t>(item), tile);
  parallel_for(out.numel, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kTile) range.scatter(i, std::min(kTile, end - i), tile);
  });
}

void fill_kernel(const Context&, const Scalar& value, const TensorView& out) {
  if (out.numel == 0) return;
  alignas(16) char element[16];
  visit_dtype(out.dtype, [&]<typename T>(TypeTag<T>) {
    const T number = element_of<T>(value);
    std::memcpy(element, &number, sizeof(T));
  });
  const size_t item = item_size(out.dtype);
  if (!out.contiguous) return fill_strided(element, item, out);
  parallel_for(out.numel, kGrain * 8, [&](int64_t begin, int64_t end) {
    fill_dense(element, item, out.as<char>() + static_cast<size_t>(begin) * item, end - begin);
  });
}

template <typename T>
void arange_kernel(const Context&, const Scalar& start, const Scalar& step, const TensorView& out) {
  auto* to = out.as<T>();
  const bool is_whole = start.kind() <= Kind::integer && step.kind() <= Kind::integer;
  const int64_t count = out.numel;
  if (is_whole) {
    const auto first = static_cast<uint64_t>(start.to_int());
    const auto by = static_cast<uint64_t>(step.to_int());
    for (int64_t i = 0; i < count; ++i) {
      to[i] = convert<T>(static_cast<int64_t>(first + static_cast<uint64_t>(i) * by));
    }
    return;
  }
  const double first = start.to_double();
  const double by = step.to_double();
  for (int64_t i = 0; i < count; ++i) to[i] = convert<T>(first + static_cast<double>(i) * by);
}

/// From both ends, so that the last number is `end` itself.
template <typename T>
void linspace_kernel(const Context&, const Scalar& start, const Scalar& end,
                     const TensorView& out) {
  auto* to = out.as<T>();
  const int64_t count = out.numel;
  const double first = start.to_double();
  const double last = end.to_double();
  const double step = count > 1 ? (last - first) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_front = i < (count + 1) / 2;
    to[i] = convert<T>(is_front ? first + static_cast<double>(i) * step
                                : last - static_cast<double>(count - 1 - i) * step);
  }
}

}  // namespace

void fill_fill() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    fill_kernels.set_cpu(dtype, &fill_kernel);
    visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
      if constexpr (!std::is_same_v<T, bool> && !is_complex_number<T>) {
        arange_kernels.set_cpu(dtype, &arange_kernel<T>);
        linspace_kernels.set_cpu(dtype, &linspace_kernel<T>);
      }
    });
  }
}

}  // namespace ebb::kernels::cpu
