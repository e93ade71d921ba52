// ebb/kernels/cpu/avg_pool.cpp -- means of windows, and their gradient.
//
// A window's rows are added up first, for a whole row of the plane at once, and then its columns;
// the gradient goes the same way back. The compiler vectorises the former (-O3). Half types add up
// in float32. One plane is worked on by one thread.
#include <algorithm>
#include <cstring>

#include "ebb/core/allocator.h"
#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/convert.h"
#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
using SumOf = std::conditional_t<is_half_number<T>, float, T>;

template <typename T>
void add_row(SumOf<T>* sums, const T* row, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += convert<SumOf<T>>(row[i]);
}

/// Calls body(plane, row) for each plane, with room for `count` sums.
template <typename Sum, typename Body>
void for_each_plane(int64_t planes, int64_t work, int64_t count, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(count) * sizeof(Sum));
    for (int64_t plane = begin; plane < end; ++plane) body(plane, scratch.as<Sum>());
  });
}

template <typename T>
void avg_pool_kernel(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                     const TensorView& input, const TensorView& out) {
  using Sum = SumOf<T>;
  const int64_t height = input.sizes[1], width = input.sizes[2];
  const int64_t places = out.sizes[1] * out.sizes[2];
  const int64_t work = std::max(places, height * width);
  for_each_plane<Sum>(input.sizes[0], work, width, [&](int64_t plane, Sum* sums) {
    const T* const from = input.as<const T>() + plane * height * width;
    T* to = out.as<T>() + plane * places;
    for (const PoolWindow& down : rows.windows) {
      std::fill_n(sums, width, Sum{0});
      for (int64_t i = 0; i < down.size; ++i) add_row(sums, from + (down.begin + i) * width, width);
      for (const PoolWindow& across : columns.windows) {
        Sum sum{0};
        for (int64_t i = 0; i < across.size; ++i) sum += sums[across.begin + i];
        *to++ = convert<T>(sum / static_cast<Sum>(down.count * across.count));
      }
    }
  });
}

/// Spreads one row of gradients over the columns that they came from.
template <typename T>
void spread_row(const T* grad, double rows, const PoolAxis& columns, SumOf<T>* sums) {
  using Sum = SumOf<T>;
  for (const PoolWindow& across : columns.windows) {
    const Sum share = convert<Sum>(*grad++) / static_cast<Sum>(rows * across.count);
    for (int64_t i = 0; i < across.size; ++i) sums[across.begin + i] += share;
  }
}

template <typename T>
void avg_pool_backward_kernel(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                              const TensorView& grad, const TensorView& grad_input) {
  using Sum = SumOf<T>;
  const int64_t height = grad_input.sizes[1], width = grad_input.sizes[2];
  const int64_t places = grad.sizes[1] * grad.sizes[2], size = height * width;
  // Behind the sums of a row: those of a plane, for half types.
  const int64_t room = width + (is_half_number<T> ? size : 0);
  for_each_plane<Sum>(grad.sizes[0], std::max(places, size), room, [&](int64_t plane, Sum* sums) {
    T* const target = grad_input.as<T>() + plane * size;
    Sum* to = sums + width;
    if constexpr (!is_half_number<T>) to = target;
    std::fill_n(to, size, Sum{0});
    const T* from = grad.as<const T>() + plane * places;
    for (const PoolWindow& down : rows.windows) {
      std::fill_n(sums, width, Sum{0});
      spread_row(from, down.count, columns, sums);
      from += columns.windows.size();
      for (int64_t i = 0; i < down.size; ++i) add_row(to + (down.begin + i) * width, sums, width);
    }
    if constexpr (is_half_number<T>) {
      for (int64_t i = 0; i < size; ++i) target[i] = convert<T>(to[i]);
    }
  });
}

template <typename T>
void set() {
  avg_pool_kernels.set_cpu(dtype_of<T>, &avg_pool_kernel<T>);
  avg_pool_backward_kernels.set_cpu(dtype_of<T>, &avg_pool_backward_kernel<T>);
}

}  // namespace

void fill_avg_pool() {
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
}

}  // namespace ebb::kernels::cpu
