// ebb/kernels/cpu/index_add.cpp -- scatter_add and index_add: out[index] += src, bit by bit the
// same for any number of threads.
//
// What one element of out receives is always added in the order of the index. Threads therefore
// share out, never the index: each takes some of the other dims or, where there are none worth
// splitting, a range of positions along dim, and passes over indices outside its range.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/convert.h"
#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/strided.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
T add(T lhs, T rhs) {
  if constexpr (std::is_same_v<T, bool>) {
    return lhs | rhs;
  } else if constexpr (is_half_number<T>) {
    return T(static_cast<float>(lhs) + static_cast<float>(rhs));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(lhs) + static_cast<uint64_t>(rhs));
  } else {
    return lhs + rhs;
  }
}

template <typename T>
T multiply(T lhs, T rhs) {
  if constexpr (std::is_same_v<T, bool>) {
    return lhs & rhs;
  } else if constexpr (is_half_number<T>) {
    return T(static_cast<float>(lhs) * static_cast<float>(rhs));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs));
  } else {
    return lhs * rhs;
  }
}

/// Positions [low, low + size) along dim.
struct Range {
  int64_t low, size;
  bool holds(int64_t index) const {
    return static_cast<uint64_t>(index - low) < static_cast<uint64_t>(size);
  }
};

/// out[index] += factor * src over src's sizes, in row-major order.
template <typename T>
struct Scatter {
  const int64_t* index;
  const T* src;
  T* out;
  int ndim;
  int64_t sizes[kMaxDims];
  int64_t index_strides[kMaxDims], src_strides[kMaxDims];
  int64_t out_strides[kMaxDims];  // 0 along dim
  int64_t dim_stride;             // of out along dim
  T factor;
  bool has_factor;

  T scaled(T value) const { return has_factor ? multiply(value, factor) : value; }

  /// The innermost loop over elements that all hit `range`.
  void add_row(const int64_t* at, const T* from, T* to) const {
    const int last = ndim - 1;
    for (int64_t j = 0; j < sizes[last]; ++j) {
      T& place = to[at[j * index_strides[last]] * dim_stride + j * out_strides[last]];
      place = add(place, scaled(from[j * src_strides[last]]));
    }
  }
  /// The same where some do not: first picks those that do, without a branch per element.
  void add_row_in(const Range& range, const int64_t* at, const T* from, T* to) const {
    const int last = ndim - 1;
    int64_t picked[kTile];
    for (int64_t begin = 0; begin < sizes[last]; begin += kTile) {
      const int64_t end = std::min(sizes[last], begin + kTile);
      int64_t count = 0;
      for (int64_t j = begin; j < end; ++j) {
        picked[count] = j;
        count += range.holds(at[j * index_strides[last]]);
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t j = picked[i];
        T& place = to[at[j * index_strides[last]] * dim_stride + j * out_strides[last]];
        place = add(place, scaled(from[j * src_strides[last]]));
      }
    }
  }

  void run(const Range& range, bool is_whole) const {
    int64_t at_dim[kMaxDims] = {};
    const int64_t* at = index;
    const T* from = src;
    T* to = out;
    while (true) {
      is_whole ? add_row(at, from, to) : add_row_in(range, at, from, to);
      int dim = ndim - 2;
      for (; dim >= 0; --dim) {
        at += index_strides[dim];
        from += src_strides[dim];
        to += out_strides[dim];
        if (++at_dim[dim] < sizes[dim]) break;
        at -= index_strides[dim] * sizes[dim];
        from -= src_strides[dim] * sizes[dim];
        to -= out_strides[dim] * sizes[dim];
        at_dim[dim] = 0;
      }
      if (dim < 0) return;
    }
  }

  /// Only positions [begin, end) of dim `dim`.
  Scatter narrowed(int dim, int64_t begin, int64_t end) const {
    Scatter part = *this;
    part.index += begin * index_strides[dim];
    part.src += begin * src_strides[dim];
    part.out += begin * out_strides[dim];
    part.sizes[dim] = end - begin;
    return part;
  }
};

template <typename T>
Scatter<T> scatter_of(const TensorView& index, const int64_t* index_strides, const TensorView& src,
                      int dim, const TensorView& out) {
  Scatter<T> loop{index.as<const int64_t>(),
                  src.as<const T>(),
                  out.as<T>(),
                  src.ndim,
                  {},
                  {},
                  {},
                  {},
                  0,
                  T(1),
                  false};
  if (src.ndim == 0) {
    loop.ndim = 1;
    loop.sizes[0] = 1;
    return loop;
  }
  loop.dim_stride = out.strides[dim];
  for (int i = 0; i < src.ndim; ++i) {
    loop.sizes[i] = src.sizes[i];
    loop.index_strides[i] = index_strides[i];
    loop.src_strides[i] = src.strides[i];
    loop.out_strides[i] = i == dim ? 0 : out.strides[i];
  }
  return loop;
}

/// Splits the loop over threads. The result does not depend on how.
template <typename T>
void run_scatter(const Scatter<T>& loop, int dim, int64_t count, int64_t positions) {
  const Range whole{0, positions};
  int widest = -1;
  for (int i = 0; i < loop.ndim; ++i) {
    if (i != dim && (widest < 0 || loop.sizes[i] > loop.sizes[widest])) widest = i;
  }
  if (count <= kGrain || num_threads() == 1) return loop.run(whole, true);
  const int64_t width = widest < 0 ? 1 : loop.sizes[widest];
  if (width >= 64) {
    const int64_t per_piece = std::max<int64_t>(16, (width + 31) / 32);
    parallel_for(width, per_piece, [&](int64_t begin, int64_t end) {
      loop.narrowed(widest, begin, end).run(whole, true);
    });
    return;
  }
  const int64_t per_piece = std::max<int64_t>(1, (positions - 1) / num_threads() + 1);
  parallel_for(positions, per_piece, [&](int64_t begin, int64_t end) {
    loop.run({begin, end - begin}, false);
  });
}

template <typename T>
void scatter_add_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                        const TensorView& out) {
  if (src.numel == 0) return;
  const auto loop = scatter_of<T>(index, index.strides, src, dim, out);
  run_scatter(loop, dim, src.numel, out.ndim == 0 ? 1 : out.sizes[dim]);
}

template <typename T>
T number_as(const Scalar& value) {
  if (value.kind() <= Kind::integer) return convert<T>(value.to_int());
  if (value.kind() == Kind::floating) return convert<T>(value.to_double());
  return convert<T>(value.to_complex());
}

/// index_add whose innermost dim is dense: adds rows, one for each index.
template <typename T>
class RowAdder {
 public:
  RowAdder(const Scatter<T>& loop, const TensorView& src, int dim)
      : loop_(loop), dim_(dim), count_(src.sizes[dim]) {}

  /// Columns [begin, end) of all rows that hit `range`.
  void run(const Range& range, int64_t begin, int64_t end) const {
    const int64_t outer = dim_ == 0 ? 1 : loop_.sizes[0];
    for (int64_t o = 0; o < outer; ++o) {
      const T* from = loop_.src + o * loop_.src_strides[0];
      T* to = loop_.out + o * loop_.out_strides[0];
      for (int64_t i = 0; i < count_; ++i) {
        const int64_t at = loop_.index[i * loop_.index_strides[dim_]];
        if (range.holds(at)) {
          add_columns(from + i * loop_.src_strides[dim_], to + at * loop_.dim_stride, begin, end);
        }
      }
    }
  }

 private:
  void add_columns(const T* from, T* to, int64_t begin, int64_t end) const {
    if (loop_.has_factor) {
      for (int64_t j = begin; j < end; ++j) to[j] = add(to[j], multiply(from[j], loop_.factor));
    } else {
      for (int64_t j = begin; j < end; ++j) to[j] = add(to[j], from[j]);
    }
  }

  const Scatter<T>& loop_;
  int dim_;
  int64_t count_;
};

/// Threads share the rows of out, or the columns if there are few rows.
template <typename T>
void run_rows_of(const Scatter<T>& loop, const TensorView& src, int dim, int64_t positions) {
  const RowAdder<T> adder(loop, src, dim);
  const Range whole{0, positions};
  const int64_t width = src.sizes[src.ndim - 1];
  if (src.numel <= kGrain || num_threads() == 1) return adder.run(whole, 0, width);
  // How it is shared does not change the sums. Whole rows are read in one stream; columns would be
  // read in bits a row apart, which costs more than a second thread gains.
  const bool has_rows_enough = positions >= 4 * int64_t{num_threads()};
  if (!has_rows_enough && width >= 512) {
    const int64_t per_piece = ((width - 1) / num_threads() + 16) / 16 * 16;
    parallel_for(width, per_piece,
                 [&](int64_t begin, int64_t end) { adder.run(whole, begin, end); });
    return;
  }
  const int64_t rows_per_piece = std::max<int64_t>(1, (positions - 1) / num_threads() + 1);
  parallel_for(positions, rows_per_piece, [&](int64_t begin, int64_t end) {
    adder.run({begin, end - begin}, 0, width);
  });
}

template <typename T>
void index_add_kernel(const Context&, const TensorView& index, const TensorView& src, int dim,
                      const Scalar& alpha, const TensorView& out) {
  if (src.numel == 0) return;
  int64_t strides[kMaxDims] = {};  // the index repeated over all other dims
  if (src.ndim > 0) strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  Scatter<T> loop = scatter_of<T>(index, strides, src, dim, out);
  loop.has_factor = !(alpha == Scalar(1)) && !(alpha == Scalar(1.0));
  loop.factor = number_as<T>(alpha);
  const int last = src.ndim - 1;
  const int64_t positions = out.ndim == 0 ? 1 : out.sizes[dim];
  const bool has_rows = src.ndim >= 2 && src.ndim <= 3 && dim == src.ndim - 2 &&
                        loop.src_strides[last] == 1 && loop.out_strides[last] == 1;
  has_rows ? run_rows_of(loop, src, dim, positions) : run_scatter(loop, dim, src.numel, positions);
}

template <typename T>
void set() {
  scatter_add_kernels.set_cpu(dtype_of<T>, &scatter_add_kernel<T>);
  index_add_kernels.set_cpu(dtype_of<T>, &index_add_kernel<T>);
}

}  // namespace

void fill_index_add() {
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
  set<std::complex<float>>();
  set<std::complex<double>>();
}

}  // namespace ebb::kernels::cpu
