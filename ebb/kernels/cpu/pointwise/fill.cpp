// ebb/kernels/cpu/pointwise/fill.cpp -- fill: every element one number; arange, linspace: evenly
// spaced numbers.
//
// A fill does nothing but store, so Highway's least target is enough, and the file is compiled
// once.
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
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Block = hn::FixedTag<uint8_t, 16>;
constexpr size_t kBlock = 16;

/// More than caches hold: stores go past them, which spares reading what they overwrite.
constexpr size_t kPastCaches = size_t{64} << 20;

/// 16 bytes of `element` repeated, from its byte `shift` on. `item` divides 16.
hn::Vec<Block> pattern_of(const char* element, size_t item, size_t shift) {
  alignas(16) uint8_t bytes[kBlock];
  for (size_t i = 0; i < kBlock; ++i) {
    bytes[i] = static_cast<uint8_t>(element[(shift + i) % item]);
  }
  return hn::Load(Block(), bytes);
}

/// `element` repeated over `size` >= 16 bytes, past the caches: both ends first, whole blocks
/// between.
void repeat_past_caches(const char* element, size_t item, void* out, size_t size) {
  const Block d;
  auto* const to = static_cast<uint8_t*>(out);
  hn::StoreU(pattern_of(element, item, 0), d, to);
  hn::StoreU(pattern_of(element, item, size - kBlock), d, to + size - kBlock);
  const size_t start = kBlock - reinterpret_cast<uintptr_t>(to) % kBlock;
  const auto pattern = pattern_of(element, item, start);
  for (size_t i = start; i + kBlock <= size; i += kBlock) hn::Stream(pattern, d, to + i);
  hwy::FlushStream();
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace ebb::kernels::cpu {
namespace {

using HWY_NAMESPACE::kBlock;
using HWY_NAMESPACE::kPastCaches;
using HWY_NAMESPACE::repeat_past_caches;

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
void fill_dense(const char* element, size_t item, void* out, int64_t count, bool passes_caches) {
  const bool is_zero = std::all_of(element, element + item, [](char byte) { return byte == 0; });
  const size_t size = static_cast<size_t>(count) * item;
  if (passes_caches && size >= kBlock) {
    repeat_past_caches(element, item, out, size);
  } else if (is_zero || item == 1) {
    std::memset(out, element[0], size);
  } else {
    gather_run(element, 0, count, static_cast<int64_t>(item), out);
  }
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
  const bool passes_caches = static_cast<size_t>(out.numel) * item >= kPastCaches;
  parallel_for(out.numel, kGrain * 8, [&](int64_t begin, int64_t end) {
    char* const place = out.as<char>() + static_cast<size_t>(begin) * item;
    fill_dense(element, item, place, end - begin, passes_caches);
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
  using Wide = std::conditional_t<is_complex_number<T>, std::complex<double>, double>;
  auto* to = out.as<T>();
  const int64_t count = out.numel;
  const auto first = element_of<Wide>(start);
  const auto last = element_of<Wide>(end);
  const Wide step = count > 1 ? (last - first) / static_cast<double>(count - 1) : Wide();
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
      if constexpr (!std::is_same_v<T, bool>) linspace_kernels.set_cpu(dtype, &linspace_kernel<T>);
      if constexpr (!std::is_same_v<T, bool> && !is_complex_number<T>) {
        arange_kernels.set_cpu(dtype, &arange_kernel<T>);
      }
    });
  }
}

}  // namespace ebb::kernels::cpu
