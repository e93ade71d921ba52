// ebb/kernels/cpu/pointwise/where.cpp -- out = condition ? input : other, for every dtype.
//
// Only the size of an element matters, so there is one loop per size.
#include "ebb/kernels/tables/where.h"

#include <cstdint>
#include <span>
#include <type_traits>

#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"

namespace ebb::kernels::cpu {
namespace {

/// Bit by bit, as the compiler makes a jump of a choice between two elements in memory.
template <typename Word>
Word select(uint8_t condition, const Word& input, const Word& other) {
  if constexpr (std::is_integral_v<Word>) {
    const auto mask = static_cast<Word>(-static_cast<Word>(condition != 0));
    return static_cast<Word>((input & mask) | (other & ~mask));
  } else {
    return condition != 0 ? input : other;
  }
}

template <typename Word>
void where_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  const auto* condition = static_cast<const uint8_t*>(in[0]);
  const auto* input = static_cast<const Word*>(in[1]);
  const auto* other = static_cast<const Word*>(in[2]);
  auto* to = static_cast<Word*>(out);
  if (splat == 0) {
    for (int64_t i = 0; i < count; ++i) to[i] = select(condition[i], input[i], other[i]);
  } else if (splat == 2) {
    const Word value = *input;
    for (int64_t i = 0; i < count; ++i) to[i] = select(condition[i], value, other[i]);
  } else if (splat == 4) {
    const Word value = *other;
    for (int64_t i = 0; i < count; ++i) to[i] = select(condition[i], input[i], value);
  } else {
    const int64_t steps[] = {(splat & 1) == 0, (splat & 2) == 0, (splat & 4) == 0};
    for (int64_t i = 0; i < count; ++i) {
      to[i] = select(condition[i * steps[0]], input[i * steps[1]], other[i * steps[2]]);
    }
  }
}

template <typename Word>
void where_kernel(const Context&, const TensorView& condition, const TensorView& input,
                  const TensorView& other, const TensorView& out) {
  const bool is_dense = out.contiguous && is_dense_like(condition, out) &&
                        is_dense_like(input, out) && is_dense_like(other, out);
  if (is_dense && out.numel <= kGrain) {
    const void* in[] = {condition.data, input.data, other.data};
    return where_function<Word>(in, out.data, out.numel, 0);
  }
  const TensorView* inputs[] = {&condition, &input, &other};
  run_rows(&where_function<Word>, kSameSplat, inputs, out);
}

WhereKernel kernel_for(size_t item) {
  switch (item) {
    case 1: return &where_kernel<uint8_t>;
    case 2: return &where_kernel<uint16_t>;
    case 4: return &where_kernel<uint32_t>;
    case 8: return &where_kernel<uint64_t>;
    default: return &where_kernel<Word16>;
  }
}

}  // namespace

void fill_where() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    where_kernels.set_cpu(dtype, kernel_for(item_size(dtype)));
  }
}

}  // namespace ebb::kernels::cpu
