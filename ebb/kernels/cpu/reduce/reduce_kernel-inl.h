// ebb/kernels/cpu/reduce/reduce_kernel-inl.h -- one reduction, from its plan to the finished
// output.
//
// Outputs and chunks become pieces of work: many outputs of few elements, few outputs of many, or
// blocks of columns. reduce-inl.h is about what happens inside a piece. Included once per target
// (see each_target.h), by the files that instantiate it for their ops.
#if defined(EBB_KERNELS_CPU_REDUCE_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_REDUCE_KERNEL_INL_H
#undef EBB_KERNELS_CPU_REDUCE_KERNEL_INL_H
#else
#define EBB_KERNELS_CPU_REDUCE_KERNEL_INL_H
#endif

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// One reduction: from its plan to the finished output.
template <class Op, typename T>
class Reduction {
 public:
  using Acc = AccumulatorOf<T>;

  Reduction(const TensorView& input, const TensorView& out, const ReducePlan& plan, int64_t divisor,
            Op op = Op{})
      : in_(input.as<T>()), out_(out.as<T>()), plan_(plan), divisor_(divisor), op_(op) {
    const int64_t columns = plan.kept.inner_size();
    const bool has_narrow_dense_rows = plan.is_by_column && columns <= kColumns / 4 &&
                                       plan.reduced.ndim == 1 &&
                                       plan.reduced.in_strides[0] == columns;
    if (has_narrow_dense_rows) fold_ = std::min(kColumns / columns, plan.reduced.count);
  }

  void run() {
    if (plan_.is_by_column) {
      run_by_column();
    } else if (plan_.reduced.count <= kChunk) {
      run_short();
    } else {
      run_chunked();
    }
  }

 private:
  static int64_t pieces_of(int64_t count, int64_t piece) { return (count + piece - 1) / piece; }

  void finish(T* place, Acc value) const {
    if (divisor_ != 0) value = static_cast<Acc>(value / static_cast<Acc>(divisor_));
    *place = static_cast<T>(op_.finished(value));
  }
  T* out_at(int64_t output) const { return out_ + plan_.kept.out_offset(output); }
  const T* in_at(int64_t output) const { return in_ + plan_.kept.in_offset(output); }

  /// Each output fits into one chunk.
  void run_short() const {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plan_.reduced.count));
    parallel_for(plan_.kept.count, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
      HWY_ALIGN Acc tile[kTile];
      ReducedElements<T> elements(plan_.reduced);
      for (int64_t i = begin; i < end; ++i) {
        elements.start_at(in_at(i));
        finish(out_at(i), reduce_chunk(op_, elements, 0, plan_.reduced.count, tile));
      }
    });
  }

  /// Each output is made of several chunks.
  void run_chunked() const {
    const int64_t count = plan_.reduced.count;
    const int64_t chunks = pieces_of(count, kChunk);
    const Scratch scratch(static_cast<size_t>(plan_.kept.count * chunks) * sizeof(Acc));
    auto* parts = scratch.as<Acc>();
    parallel_for(plan_.kept.count * chunks, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      HWY_ALIGN Acc tile[kTile];
      ReducedElements<T> elements(plan_.reduced);
      for (int64_t i = begin; i < end; ++i) {
        elements.start_at(in_at(i / chunks));
        const int64_t from = i % chunks * kChunk;
        parts[i] = reduce_chunk(op_, elements, from, std::min(count, from + kChunk), tile);
      }
    });
    for (int64_t i = 0; i < plan_.kept.count; ++i) {
      combine_pairs(op_, parts + i * chunks, chunks, 1);
      finish(out_at(i), parts[i * chunks]);
    }
  }

  /// The innermost dim is kept: adds rows of up to kColumns elements. Narrow rows that lie behind
  /// each other are added `fold_` at a time, as if they were one wide row.
  void run_by_column() const {
    const LoopDims outer = plan_.kept.outer();
    const int64_t columns = plan_.kept.inner_size();
    const int64_t blocks = pieces_of(columns, kColumns);
    const int64_t chunks = pieces_of(plan_.reduced.count / fold_, kChunkRows);
    const int64_t tasks = outer.count * blocks * chunks;
    const int64_t part_count = chunks == 1 ? 1 : outer.count * chunks * columns;
    const Scratch scratch(static_cast<size_t>(part_count) * sizeof(Acc));
    auto* parts = scratch.as<Acc>();
    const int64_t task_size =
        std::min(columns, kColumns) * std::min(plan_.reduced.count, kChunkRows);
    const int64_t grain = std::max<int64_t>(1, kGrain / task_size);
    parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const ColumnTask place{task / (blocks * chunks), task / blocks % chunks,
                               task % blocks * kColumns};
        run_column_task(outer, place, chunks, parts);
      }
    });
    if (chunks > 1) finish_columns(outer, chunks, parts);
  }

  struct ColumnTask {
    int64_t outer, chunk, column;
  };

  void run_column_task(const LoopDims& outer, const ColumnTask& task, int64_t chunks,
                       Acc* parts) const {
    HWY_ALIGN Acc sums[kColumns];
    const int64_t columns = plan_.kept.inner_size();
    const int64_t width = std::min(kColumns, columns - task.column);
    const T* in = in_ + outer.in_offset(task.outer) + task.column;
    const int64_t begin = task.chunk * kChunkRows;
    const int64_t end = std::min(plan_.reduced.count / fold_, begin + kChunkRows);
    if (fold_ == 1) {
      const ReducedRows<T> rows{plan_.reduced, in, static_cast<size_t>(width)};
      reduce_rows(op_, rows, begin, end, sums);
    } else {
      reduce_folded(in, begin, end, sums);
    }
    if (chunks > 1) {
      std::copy_n(sums, width, parts + (task.outer * chunks + task.chunk) * columns + task.column);
      return;
    }
    const int64_t stride = plan_.kept.out_strides[plan_.kept.ndim - 1];
    T* out = out_ + outer.out_offset(task.outer) + task.column * stride;
    for (int64_t i = 0; i < width; ++i) finish(out + i * stride, sums[i]);
  }

  /// Wide rows [begin, end) to one narrow row in `sums`; the last ones take what does not fill one.
  void reduce_folded(const T* in, int64_t begin, int64_t end, Acc* sums) const {
    const int64_t columns = plan_.kept.inner_size();
    const int64_t wide_rows = plan_.reduced.count / fold_;
    LoopDims wide;
    wide.push_back(wide_rows, fold_ * columns, 0);
    const ReducedRows<T> rows{wide, in, static_cast<size_t>(fold_ * columns)};
    reduce_rows(op_, rows, begin, end, sums);
    for (int64_t column = 0; column < columns; ++column) {
      combine_pairs(op_, sums + column, fold_, columns);
    }
    if (end != wide_rows) return;
    const ReducedRows<T> rest{plan_.reduced, in, static_cast<size_t>(columns)};
    HWY_ALIGN Acc tile[kColumns];
    for (int64_t row = wide_rows * fold_; row < plan_.reduced.count; ++row) {
      add_elements(op_, sums, rest.read(row, tile), static_cast<size_t>(columns));
    }
  }

  void finish_columns(const LoopDims& outer, int64_t chunks, Acc* parts) const {
    const int64_t columns = plan_.kept.inner_size();
    const int64_t stride = plan_.kept.out_strides[plan_.kept.ndim - 1];
    for (int64_t i = 0; i < outer.count; ++i) {
      Acc* rows = parts + i * chunks * columns;
      T* out = out_ + outer.out_offset(i);
      for (int64_t column = 0; column < columns; ++column) {
        combine_pairs(op_, rows + column, chunks, columns);
        finish(out + column * stride, rows[column]);
      }
    }
  }

  const T* in_;
  T* out_;
  const ReducePlan& plan_;
  int64_t divisor_;   // 0: none
  int64_t fold_ = 1;  // rows that are added as one
  Op op_;
};

enum class Finish { plain, mean };

/// One dense chunk to one element: no plan needed.
template <class Op, typename T>
void reduce_small(const TensorView& input, const TensorView& out, int64_t divisor, Op op = Op{}) {
  using Acc = AccumulatorOf<T>;
  HWY_ALIGN Acc tile[kTile];
  Acc value = reduce_chunk(op, DenseElements<T>{input.as<T>()}, 0, input.numel, tile);
  if (divisor != 0) value = static_cast<Acc>(value / static_cast<Acc>(divisor));
  *out.as<T>() = static_cast<T>(op.finished(value));
}

/// `as_pairs`: T is the real type of the complex elements.
template <class Op, typename T, Finish finish, bool as_pairs>
void reduce_kernel(const Context&, const TensorView& input, const TensorView& out) {
  if (out.numel == 0) return;
  if (!as_pairs && out.numel == 1 && input.contiguous && input.numel != 0 &&
      input.numel <= kChunk) {
    return reduce_small<Op, T>(input, out, finish == Finish::mean ? input.numel : 0);
  }
  const ReducePlan plan(input, out, as_pairs);
  if (input.numel == 0) {
    const bool is_mean = finish == Finish::mean;
    const auto nothing = is_mean ? T(std::numeric_limits<float>::quiet_NaN())
                                 : T(Op::template identity<AccumulatorOf<T>>());
    for (int64_t i = 0; i < plan.kept.count; ++i) out.as<T>()[plan.kept.out_offset(i)] = nothing;
    return;
  }
  const int64_t divisor = finish == Finish::mean ? plan.reduced.count : 0;
  Reduction<Op, T>(input, out, plan, divisor).run();
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
