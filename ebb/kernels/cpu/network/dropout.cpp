// ebb/kernels/cpu/network/dropout.cpp -- dropout in one pass, and its mask applied to a gradient.
//
// Element i is kept if word i of the random sequence, of 32 bits, is at least p * 2^32: it depends
// on the state and i alone. The loops over tiles are plain and left to the compiler, once per
// target.
#include "ebb/kernels/tables/dropout.h"

#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "ebb/kernels/cpu/simd/philox-inl.h"
#include "ebb/kernels/tables/masked_scale.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// out = mask ? in * scale : 0 for dense memory.
template <typename Acc>
void scale_kept(const Acc* in, const uint8_t* mask, Acc scale, Acc* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = mask[i] != 0 ? in[i] * scale : Acc{0};
}

/// The same for elements of any type; `tile` has room for `count` accumulators.
template <typename T, typename Acc>
void scale_elements(const T* in, const uint8_t* mask, Acc scale, T* out, int64_t count, Acc* tile) {
  if constexpr (is_half_type<T>) {
    widen(in, tile, static_cast<size_t>(count));
    scale_kept(static_cast<const Acc*>(tile), mask, scale, tile, count);
    narrow(tile, out, static_cast<size_t>(count));
  } else {
    scale_kept(in, mask, scale, out, count);
  }
}

/// Calls body(begin, count, tile) for tiles of at most kTile elements of dense memory.
template <typename Acc, class Body>
void for_each_tile(int64_t numel, Body body) {
  static_assert(kGrain % kTile == 0);
  parallel_for(numel, kGrain, [&](int64_t begin, int64_t end) {
    HWY_ALIGN Acc tile[kTile];
    for (int64_t i = begin; i < end; i += kTile) body(i, std::min(kTile, end - i), tile);
  });
}

template <typename T>
void dropout_kernel(const Context&, const TensorView& input, const RandomState& state, double p,
                    const TensorView& out, const TensorView& mask) {
  using Acc = AccumulatorOf<T>;
  const auto threshold = static_cast<uint32_t>(p * 0x1p32);
  const auto scale = static_cast<Acc>(1 / (1 - p));
  for_each_tile<Acc>(out.numel, [&](int64_t begin, int64_t count, Acc* tile) {
    HWY_ALIGN uint32_t words[kTile];
    philox_words(state, static_cast<uint64_t>(begin / 4), static_cast<size_t>((count + 3) / 4),
                 words);
    auto* const keep = mask.as<uint8_t>() + begin;
    for (int64_t i = 0; i < count; ++i) keep[i] = words[i] >= threshold ? 1 : 0;
    scale_elements(input.as<const T>() + begin, keep, scale, out.as<T>() + begin, count, tile);
  });
}

template <typename T>
void masked_scale_kernel(const Context&, const TensorView& input, const TensorView& mask,
                         double scale, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  for_each_tile<Acc>(out.numel, [&](int64_t begin, int64_t count, Acc* tile) {
    scale_elements(input.as<const T>() + begin, mask.as<const uint8_t>() + begin,
                   static_cast<Acc>(scale), out.as<T>() + begin, count, tile);
  });
}

template <typename... T>
void set() {
  (dropout_kernels.set_cpu(dtype_of<T>, &dropout_kernel<T>), ...);
  (masked_scale_kernels.set_cpu(dtype_of<T>, &masked_scale_kernel<T>), ...);
}

}  // namespace

void fill_dropout() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
