// ebb/kernels/cpu/pointwise/cast.cpp -- conversion between all pairs of dtypes, and plain copies.
//
// A copy needs the size of an element only. Of the conversions, those between float32 and the half
// types and float64 are vectorised; the others are simple loops, and half types go through float32.
#include "ebb/kernels/tables/cast.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/pointwise/cast.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/pairs-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// Four vectors a turn, as counting takes as many instructions as widening.
template <typename From>
void widen_function(const void* const* in, void* out, int64_t count, unsigned) {
  const hn::ScalableTag<float> d;
  const auto* from = static_cast<const From*>(in[0]);
  auto* to = static_cast<float*>(out);
  const size_t lanes = hn::Lanes(d), size = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    store_lanes(load_lanes(d, from + i), d, to + i);
    store_lanes(load_lanes(d, from + i + lanes), d, to + i + lanes);
    store_lanes(load_lanes(d, from + i + 2 * lanes), d, to + i + 2 * lanes);
    store_lanes(load_lanes(d, from + i + 3 * lanes), d, to + i + 3 * lanes);
  }
  widen(from + i, to + i, size - i);
}

/// Rounds two vectors without NaN, as narrow_pairs() does.
HWY_INLINE void narrow_numbers(PairVector first, PairVector second, BFloat16* to) {
  const hn::RebindToUnsigned<PairLanes> du;
  const hn::Repartition<uint16_t, PairLanes> halves;
  const auto rounded = [du](PairVector v) HWY_ATTR {
    const PairBits bits = hn::BitCast(du, v);
    const PairBits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    return hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  };
  const auto low = hn::BitCast(halves, rounded(first)), high = hn::BitCast(halves, rounded(second));
  hn::StoreU(hn::ConcatOdd(halves, high, low), halves, reinterpret_cast<uint16_t*>(to));
}

/// Rounds float32 numbers, four vectors at a time, and returns how many. Only a NaN needs more care
/// than an addition, and the sum of the four shows whether there may be one.
HWY_INLINE size_t narrow_blocks(const float* from, BFloat16* to, size_t count) {
  const PairLanes d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const PairVector a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + i + lanes);
    const PairVector c = hn::LoadU(d, from + i + 2 * lanes);
    const PairVector e = hn::LoadU(d, from + i + 3 * lanes);
    const PairVector sum = hn::Add(hn::Add(a, b), hn::Add(c, e));
    if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(sum)))) {
      narrow_numbers(a, b, to + i);
      narrow_numbers(c, e, to + i + 2 * lanes);
    } else {
      narrow_pairs(from + i, to + i, 4 * lanes);
    }
  }
  return i + narrow_pairs(from + i, to + i, count - i);
}

template <typename To>
void narrow_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<To*>(out);
  const auto size = static_cast<size_t>(count);
  size_t done = 0;
  if constexpr (std::is_same_v<To, BFloat16>) done = narrow_blocks(from, to, size);
  narrow(from + done, to + done, size - done);
}

void float_to_double(const void* const* in, void* out, int64_t count, unsigned) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<double*>(out);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow_d, from + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = from[i];
}

void double_to_float(const void* const* in, void* out, int64_t count, unsigned) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  const auto* from = static_cast<const double*>(in[0]);
  auto* to = static_cast<float*>(out);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::DemoteTo(narrow_d, hn::LoadU(d, from + i)), narrow_d, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

RowFunction vector_cast(DType from, DType to) {
  if (from == DType::float32 && to == DType::float16) return &narrow_function<Half>;
  if (from == DType::float32 && to == DType::bfloat16) return &narrow_function<BFloat16>;
  if (from == DType::float16 && to == DType::float32) return &widen_function<Half>;
  if (from == DType::bfloat16 && to == DType::float32) return &widen_function<BFloat16>;
  if (from == DType::float32 && to == DType::float64) return &float_to_double;
  if (from == DType::float64 && to == DType::float32) return &double_to_float;
  return nullptr;
}

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
namespace {

/// cast_rows[from][to], filled before the tables are.
RowFunction cast_rows[kDTypeCount][kDTypeCount];

template <typename From, typename To>
void convert_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const From*>(in[0]);
  auto* to = static_cast<To*>(out);
  if constexpr (is_half_number<From> || is_half_number<To>) {
    float tile[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t part = std::min(kTile, count - i);
      const void* part_in[] = {from + i};
      const void* wide[] = {tile};
      cast_row(dtype_of<From>, DType::float32)(part_in, tile, part, 0);
      cast_row(DType::float32, dtype_of<To>)(wide, to + i, part, 0);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
  }
}

template <size_t item>
void copy_function(const void* const* in, void* out, int64_t count, unsigned) {
  if (in[0] != out) std::memcpy(out, in[0], static_cast<size_t>(count) * item);
}

RowFunction copy_of(size_t item) {
  switch (item) {
    case 1: return &copy_function<1>;
    case 2: return &copy_function<2>;
    case 4: return &copy_function<4>;
    case 8: return &copy_function<8>;
    default: return &copy_function<16>;
  }
}

void fill_row(DType from, DType to) {
  visit_dtype(from, [&]<typename From>(TypeTag<From>) {
    visit_dtype(to, [&]<typename To>(TypeTag<To>) {
      cast_rows[static_cast<int>(from)][static_cast<int>(to)] = &convert_function<From, To>;
    });
  });
}

void cast_kernel(const Context&, const TensorView& input, const TensorView& out) {
  const RowFunction row = cast_rows[static_cast<int>(input.dtype)][static_cast<int>(out.dtype)];
  if (out.contiguous && out.numel <= kGrain && is_dense_like(input, out)) {
    const void* in[] = {input.data};
    return row(in, out.data, out.numel, 0);
  }
  const TensorView* inputs[] = {&input};
  run_rows(row, kNoSplat, inputs, out);
}

}  // namespace

RowFunction cast_row(DType from, DType to) {
  return cast_rows[static_cast<int>(from)][static_cast<int>(to)];
}

void fill_cast() {
  const Isa isa = usable_isa();
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto from = static_cast<DType>(i);
    for (int j = 0; j < kDTypeCount; ++j) {
      const auto to = static_cast<DType>(j);
      fill_row(from, to);
      if (const auto row = EBB_CALL_FOR_ISA(isa, vector_cast(from, to))) cast_rows[i][j] = row;
    }
    cast_rows[i][i] = copy_of(item_size(from));
    cast_kernels.set_cpu(from, &cast_kernel);
  }
}

}  // namespace ebb::kernels::cpu
#endif
