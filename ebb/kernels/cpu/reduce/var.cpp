// ebb/kernels/cpu/reduce/var.cpp -- variance and standard deviation over any dims.
#include "ebb/kernels/tables/var.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "ebb/kernels/tables/std.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// How the values of a group are spread: their mean, and the sum of squared distances from it.
template <typename Acc>
struct Moments {
  Acc mean, squares;

  /// Joins `other`, a group of `theirs` values, to this one of `ours`.
  HWY_INLINE void join(const Moments& other, int64_t ours, int64_t theirs) {
    const Acc share = static_cast<Acc>(theirs) / static_cast<Acc>(ours + theirs);
    const Acc distance = other.mean - mean;
    mean += distance * share;
    squares += other.squares + distance * distance * (static_cast<Acc>(ours) * share);
  }
};

/// (x - mean)^2.
template <typename Acc>
struct SquaredDistance {
  Acc mean;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const auto distance = hn::Sub(x, hn::Set(d, mean));
    return hn::Mul(distance, distance);
  }
};
struct SquaredDifference {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V mean) const {
    const auto distance = hn::Sub(x, mean);
    return hn::Mul(distance, distance);
  }
};

/// Elements as squared distances from a mean.
template <class Source, typename Acc>
struct Distances {
  const Source& source;
  Acc mean;
  HWY_INLINE const Acc* read(int64_t begin, int64_t count, Acc* tile) const {
    unary_row(SquaredDistance<Acc>{mean}, source.read(begin, count, tile), tile,
              static_cast<size_t>(count));
    return tile;
  }
};
/// Rows as squared distances from a mean per column.
template <typename T>
struct RowDistances {
  using Acc = AccumulatorOf<T>;
  const ReducedRows<T>& source;
  const Acc* mean;
  size_t columns;
  HWY_INLINE const Acc* read(int64_t row, Acc* tile) const {
    binary_row(SquaredDifference{}, source.read(row, tile), mean, tile, columns, 0);
    return tile;
  }
};

/// One variance. Each piece of work is read twice, the second time from the cache: first for its
/// mean, then for the distances from it. Pieces of one output are joined in order.
template <typename T, bool root>
class Variance {
 public:
  using Acc = AccumulatorOf<T>;

  Variance(const TensorView& input, const TensorView& out, const ReducePlan& plan,
           double correction)
      : in_(input.as<T>()),
        out_(out.as<T>()),
        plan_(plan),
        divisor_(std::max(0.0, static_cast<double>(plan.reduced.count) - correction)) {}

  void run() const { plan_.is_by_column ? run_by_column() : run_by_row(); }

 private:
  static int64_t pieces_of(int64_t count, int64_t piece) { return (count + piece - 1) / piece; }

  void finish(T* place, const Moments<Acc>& moments) const {
    const Acc variance = moments.squares / static_cast<Acc>(divisor_);
    *place = static_cast<T>(root ? std::sqrt(variance) : variance);
  }

  /// Moments of elements [begin, end), at most kChunk.
  template <class Source>
  static Moments<Acc> moments_of(const Source& source, int64_t begin, int64_t end, Acc* tile) {
    const auto count = static_cast<Acc>(end - begin);
    Moments<Acc> moments;
    moments.mean = reduce_chunk(SumOp{}, source, begin, end, tile) / count;
    const Distances<Source, Acc> distances{source, moments.mean};
    moments.squares = reduce_chunk(SumOp{}, distances, begin, end, tile);
    return moments;
  }

  void run_by_row() const {
    const int64_t count = plan_.reduced.count;
    const int64_t chunks = pieces_of(count, kChunk);
    const int64_t grain = std::max<int64_t>(1, kGrain / count);
    const Scratch scratch(static_cast<size_t>(plan_.kept.count * chunks) * sizeof(Moments<Acc>));
    auto* parts = scratch.as<Moments<Acc>>();
    parallel_for(plan_.kept.count * chunks, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
      HWY_ALIGN Acc tile[kTile];
      ReducedElements<T> elements(plan_.reduced);
      for (int64_t i = begin; i < end; ++i) {
        elements.start_at(in_ + plan_.kept.in_offset(i / chunks));
        const int64_t from = i % chunks * kChunk;
        parts[i] = moments_of(elements, from, std::min(count, from + kChunk), tile);
      }
    });
    for (int64_t i = 0; i < plan_.kept.count; ++i) {
      Moments<Acc> total = parts[i * chunks];
      for (int64_t j = 1; j < chunks; ++j) {
        total.join(parts[i * chunks + j], j * kChunk, std::min(kChunk, count - j * kChunk));
      }
      finish(out_ + plan_.kept.out_offset(i), total);
    }
  }

  /// The innermost dim is kept: blocks of columns, pieces of rows.
  void run_by_column() const {
    const LoopDims outer = plan_.kept.outer();
    const int64_t columns = plan_.kept.inner_size();
    const int64_t blocks = pieces_of(columns, kColumns);
    const int64_t chunks = pieces_of(plan_.reduced.count, kChunkRows);
    const Scratch scratch(static_cast<size_t>(outer.count * chunks * columns) *
                          sizeof(Moments<Acc>));
    auto* parts = scratch.as<Moments<Acc>>();
    const int64_t size = std::min(columns, kColumns) * std::min(plan_.reduced.count, kChunkRows);
    const int64_t grain = std::max<int64_t>(1, kGrain / size);
    parallel_for(outer.count * chunks * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t place = task / blocks, column = task % blocks * kColumns;
        const T* in = in_ + outer.in_offset(place / chunks) + column;
        const int64_t width = std::min(kColumns, columns - column);
        column_moments(in, place % chunks, width, parts + place * columns + column);
      }
    });
    finish_columns(outer, chunks, parts);
  }

  void column_moments(const T* in, int64_t chunk, int64_t width, Moments<Acc>* parts) const {
    HWY_ALIGN Acc mean[kColumns];
    HWY_ALIGN Acc squares[kColumns];
    const int64_t begin = chunk * kChunkRows;
    const int64_t end = std::min(plan_.reduced.count, begin + kChunkRows);
    const ReducedRows<T> rows{plan_.reduced, in, static_cast<size_t>(width)};
    reduce_rows(SumOp{}, rows, begin, end, mean);
    for (int64_t i = 0; i < width; ++i) mean[i] /= static_cast<Acc>(end - begin);
    const RowDistances<T> distances{rows, mean, static_cast<size_t>(width)};
    reduce_rows(SumOp{}, distances, begin, end, squares);
    for (int64_t i = 0; i < width; ++i) parts[i] = {mean[i], squares[i]};
  }

  void finish_columns(const LoopDims& outer, int64_t chunks, const Moments<Acc>* parts) const {
    const int64_t columns = plan_.kept.inner_size();
    const int64_t stride = plan_.kept.out_strides[plan_.kept.ndim - 1];
    for (int64_t i = 0; i < outer.count * columns; ++i) {
      const int64_t column = i % columns;
      const Moments<Acc>* from = parts + i / columns * chunks * columns + column;
      Moments<Acc> total = from[0];
      for (int64_t j = 1; j < chunks; ++j) {
        const int64_t before = j * kChunkRows;
        total.join(from[j * columns], before, std::min(kChunkRows, plan_.reduced.count - before));
      }
      finish(out_ + outer.out_offset(i / columns) + column * stride, total);
    }
  }

  const T* in_;
  T* out_;
  const ReducePlan& plan_;
  double divisor_;
};

template <typename T, bool root>
void var_kernel(const Context&, const TensorView& input, double correction, const TensorView& out) {
  if (out.numel == 0) return;
  const ReducePlan plan(input, out, false);
  if (input.numel == 0) {
    const T nothing(std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < plan.kept.count; ++i) out.as<T>()[plan.kept.out_offset(i)] = nothing;
    return;
  }
  Variance<T, root>(input, out, plan, correction).run();
}

template <typename... T>
void set() {
  (var_kernels.set_cpu(dtype_of<T>, &var_kernel<T, false>), ...);
  (std_kernels.set_cpu(dtype_of<T>, &var_kernel<T, true>), ...);
}

}  // namespace

void fill_var() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
