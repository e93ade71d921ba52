// ebb/kernels/cpu/reduce/running.cpp -- the extremum of all elements up to each along a dim.
#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/pointwise/combine.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/running_extremum.h"

namespace ebb::kernels::cpu {
namespace {

/// Lines of `count` elements; of each operand the first element and the step along the line.
template <typename T>
struct RunningLine {
  const T* in;
  T* values;
  int64_t* indices;
  int64_t count, in_step, value_step, index_step;

  template <bool kLargest>
  void run() const {
    T best = in[0];
    int64_t place = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T value = in[i * in_step];
      const auto number = comparable(value), held = comparable(best);
      const bool is_next = kLargest ? number >= held : number <= held;
      // A NaN is in no order: it enters, and then nothing is above or below it.
      if (is_next || (number != number && held == held)) {
        best = value;
        place = i;
      }
      values[i * value_step] = best;
      indices[i * index_step] = place;
    }
  }
};

template <typename T>
void running_extremum_kernel(const Context&, const TensorView& input, int dim, bool largest,
                             const TensorView& values, const TensorView& indices) {
  if (input.numel == 0) return;
  const int64_t count = input.sizes[dim];
  const int64_t lines = input.numel / count;
  parallel_for(lines, std::max<int64_t>(1, kGrain / count), [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      RunningLine<T> line{input.as<const T>(), values.as<T>(),      indices.as<int64_t>(), count,
                          input.strides[dim],  values.strides[dim], indices.strides[dim]};
      int64_t rest = number;
      for (int i = input.ndim - 1; i >= 0; --i) {
        if (i == dim) continue;
        const int64_t at = rest % input.sizes[i];
        rest /= input.sizes[i];
        line.in += at * input.strides[i];
        line.values += at * values.strides[i];
        line.indices += at * indices.strides[i];
      }
      largest ? line.template run<true>() : line.template run<false>();
    }
  });
}

template <typename... T>
void set() {
  (running_extremum_kernels.set_cpu(dtype_of<T>, &running_extremum_kernel<T>), ...);
}

}  // namespace

void fill_running() {
  set<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>();
}

}  // namespace ebb::kernels::cpu
