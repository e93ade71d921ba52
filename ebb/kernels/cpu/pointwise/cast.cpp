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

template <typename From>
void widen_function(const void* const* in, void* out, int64_t count, unsigned) {
  widen(static_cast<const From*>(in[0]), static_cast<float*>(out), static_cast<size_t>(count));
}
template <typename To>
void narrow_function(const void* const* in, void* out, int64_t count, unsigned) {
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<To*>(out);
  const auto size = static_cast<size_t>(count);
  size_t done = 0;
  if constexpr (std::is_same_v<To, BFloat16>) done = narrow_pairs(from, to, size);
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
