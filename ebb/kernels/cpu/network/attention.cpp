// ebb/kernels/cpu/network/attention.cpp -- attention in tiles: memory grows with the length, not
// its square.
//
// The matrix of weights never exists as a whole. A tile of scores is one product of a block of
// queries with a block of keys; the forward pass keeps the largest score and the sum of
// exponentials of each row so far and rescales what it has added up (Milakov & Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). The backward pass
// makes the weights of a tile anew from the logarithm of that sum. Start reading at Forward::run().
#include "ebb/kernels/tables/attention.h"

#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/attention_tile-inl.h"
#include "ebb/kernels/tables/attention_backward.h"
#include "ebb/kernels/tables/attention_dropout.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

// The keys of one head are cut into at most so many chunks in the backward pass, each with a
// gradient of the queries of its own; with so many heads they are not cut.
constexpr int64_t kMostChunks = 4;
constexpr int64_t kEnoughHeads = 16;

/// One block of queries of one head against all keys.
template <typename S>
class Forward {
 public:
  using T = Computed<S>;

  Forward(const Problem& problem, const TensorView& query, const TensorView& key,
          const TensorView& value, const TensorView& out, const TensorView& logsumexp)
      : problem_(problem),
        scores_(problem, query, key),
        value_(value),
        out_(out),
        logsumexp_(logsumexp) {}

  void run(const Head& head, int64_t row) const {
    const int64_t rows = std::min(kQueryBlock, problem_.rows - row);
    const int64_t width = std::min(kKeyBlock, problem_.columns);
    const int64_t sizes[] = {rows * problem_.features, rows * width, rows * problem_.value_features,
                             rows, width};
    const int64_t keys_size = Rows<S>::copy_size(width, problem_.features);
    const int64_t values_size = Rows<S>::copy_size(width, problem_.value_features);
    Arrays<T> arrays{sizes[0], sizes[1], sizes[2],  sizes[3],
                     sizes[3], sizes[4], keys_size, values_size};
    T* const queries = arrays.next(sizes[0]);
    T* const weights = arrays.next(sizes[1]);
    const Sums sums{arrays.next(sizes[2]), arrays.next(rows), arrays.next(rows)};
    T* const factors = arrays.next(width);
    T* const key_copy = arrays.next(keys_size);
    T* const value_copy = arrays.next(values_size);
    scores_.scaled_queries(head, row, rows, queries);
    std::fill_n(sums.values, sizes[2], T{0});
    std::fill_n(sums.top, rows, kMinusInfinity<T>);
    std::fill_n(sums.total, rows, T{0});
    for (int64_t column = 0; column < problem_.columns; column += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, problem_.columns - column);
      const Tile tile{row, rows, column, problem_.seen(row + rows, column, count)};
      if (tile.columns <= 0) break;
      scores_.compute(head, tile, queries, scores_.keys(head, tile, key_copy), weights);
      for (int64_t i = 0; i < rows; ++i) {
        T* const line = weights + i * tile.columns;
        add_exponentials(sums, i, line, tile.columns);
        if (problem_.options.dropout > 0) {
          scores_.drop(head, tile, i, factors);
          binary_row(MulRows{}, static_cast<const T*>(line), static_cast<const T*>(factors), line,
                     static_cast<size_t>(tile.columns), 0);
        }
      }
      const Rows<S> values(value_, head.batch, head.key_head, column, tile.columns, value_copy);
      gemm(dtype_of<T>, {rows,
                         problem_.value_features,
                         tile.columns,
                         {weights, tile.columns, 1},
                         values.matrix(),
                         sums.values,
                         problem_.value_features,
                         true});
    }
    finish(head, row, rows, sums);
  }

 private:
  /// Per row: the weighted values so far, the largest score, and the sum of exponentials.
  struct Sums {
    T* values;
    T* top;
    T* total;
  };

  void add_exponentials(const Sums& sums, int64_t i, T* line, int64_t count) const {
    const T before = sums.top[i];
    const T top = MaxOp{}.scalar(before, row_max(line, count));
    const T shift = top == kMinusInfinity<T> ? T{0} : top;  // nothing seen yet
    const T sum = exp_and_sum(line, count, shift);
    if (top != before) {
      const T factor = exp_scalar(before - shift);
      T* const values = sums.values + i * problem_.value_features;
      unary_row(ScaleBy<T>{factor}, static_cast<const T*>(values), values,
                static_cast<size_t>(problem_.value_features));
      sums.total[i] *= factor;
    }
    sums.total[i] += sum;
    sums.top[i] = top;
  }

  void finish(const Head& head, int64_t row, int64_t rows, const Sums& sums) const {
    for (int64_t i = 0; i < rows; ++i) {
      const T total = sums.total[i];
      const T factor = total == T{0} ? T{0} : T{1} / total;
      T* const values = sums.values + i * problem_.value_features;
      unary_row(ScaleBy<T>{factor}, static_cast<const T*>(values), values,
                static_cast<size_t>(problem_.value_features));
      store_row(values, row_at<S>(out_, head.batch, head.head, row + i), problem_.value_features);
      logsumexp_.as<T>()[problem_.global_row(head, row + i)] =
          total == T{0} ? -kMinusInfinity<T> : sums.top[i] + log_scalar(total);
    }
  }

  const Problem& problem_;
  Scores<S> scores_;
  const TensorView& value_;
  const TensorView& out_;
  const TensorView& logsumexp_;
};

template <typename S>
void attention_kernel(const Context&, const TensorView& query, const TensorView& key,
                      const TensorView& value, const AttentionOptions& options,
                      const TensorView& out, const TensorView& logsumexp) {
  const Problem problem(query, key, value, options);
  const Forward<S> forward(problem, query, key, value, out, logsumexp);
  const int64_t blocks = (problem.rows + kQueryBlock - 1) / kQueryBlock;
  const int64_t work = std::min(problem.rows, kQueryBlock) * problem.columns *
                       (problem.features + problem.value_features);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 19) / work);
  parallel_for(problem.batch * problem.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      forward.run(problem.head(i / blocks), i % blocks * kQueryBlock);
    }
  });
}

/// One chunk of the keys of one head, against all queries that use them.
template <typename S>
class Backward {
 public:
  using T = Computed<S>;

  Backward(const Problem& problem, const AttentionSaved& saved, const T* deltas,
           const TensorView& grad_key, const TensorView& grad_value)
      : problem_(problem),
        saved_(saved),
        scores_(problem, saved.query, saved.key),
        deltas_(deltas),
        grad_key_(grad_key),
        grad_value_(grad_value) {}

  /// `grad_queries`: zeros, rows from `first_row` on of [B, H, L, E], for this chunk alone.
  struct QuerySums {
    T* data;
    int64_t first_row;
  };
  void run(int64_t batch, int64_t key_head, int64_t begin, int64_t end,
           const QuerySums& grad_queries) const {
    const int64_t width = std::min(kKeyBlock, problem_.columns);
    const int64_t height = std::min(kQueryBlock, problem_.rows);
    const int64_t queries = height * problem_.features, area = height * width;
    const int64_t keys = Rows<S>::copy_size(width, problem_.features);
    const int64_t values = Rows<S>::copy_size(width, problem_.value_features);
    const int64_t grads = Rows<S>::copy_size(height, problem_.value_features);
    Arrays<T> arrays{queries, area, area, area, width, keys, values, grads, keys, values};
    const Memory memory{arrays.next(queries),
                        arrays.next(area),
                        arrays.next(area),
                        problem_.options.dropout > 0 ? arrays.next(area) : nullptr,
                        problem_.options.dropout > 0 ? arrays.next(width) : nullptr,
                        arrays.next(keys),
                        arrays.next(values),
                        arrays.next(grads)};
    T* const key_sums = arrays.next(keys);
    T* const value_sums = arrays.next(values);
    for (int64_t column = begin; column < end; column += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, end - column);
      const Sums grad_key(grad_key_, batch, key_head, column, count, key_sums);
      const Sums grad_value(grad_value_, batch, key_head, column, count, value_sums);
      for (int64_t member = 0; member < problem_.group(); ++member) {
        const Head head{batch, key_head * problem_.group() + member, key_head};
        const int64_t first =
            problem_.options.is_causal ? column / kQueryBlock * kQueryBlock : int64_t{0};
        for (int64_t row = first; row < problem_.rows; row += kQueryBlock) {
          const int64_t rows = std::min(kQueryBlock, problem_.rows - row);
          const Tile tile{row, rows, column, problem_.seen(row + rows, column, count)};
          if (tile.columns > 0) run_tile(head, tile, memory, grad_key, grad_value, grad_queries);
        }
      }
      grad_key.store();
      grad_value.store();
    }
  }

 private:
  struct Memory {
    T* queries;
    T* weights;
    T* grads;    // of the weights, then of the scores
    T* dropped;  // the weights after dropout, or null
    T* factors;
    T* keys;  // these three: copies of half types
    T* values;
    T* grad_out;
  };

  /// The gradient of a block of keys or values, zeros at first: rows of the tensor itself, or sums
  /// that are rounded when they are complete.
  class Sums {
   public:
    Sums(const TensorView& view, int64_t batch, int64_t head, int64_t row, int64_t count, T* copy)
        : first_(row_at<S>(view, batch, head, row)),
          step_(view.strides[2]),
          features_(view.sizes[3]),
          count_(count) {
      if constexpr (is_half_type<S>) {
        data = copy;
        stride = features_;
      } else {
        data = first_;
        stride = row_stride(view);
      }
      for (int64_t i = 0; i < count; ++i) std::fill_n(data + i * stride, features_, T{0});
    }
    void store() const {
      for (int64_t i = 0; i < count_; ++i) {
        store_row(data + i * stride, first_ + i * step_, features_);
      }
    }
    T* data;
    int64_t stride;

   private:
    S* first_;
    int64_t step_, features_, count_;
  };

  void run_tile(const Head& head, const Tile& tile, const Memory& memory, const Sums& grad_key,
                const Sums& grad_value, const QuerySums& grad_queries) const {
    const int64_t features = problem_.features, value_features = problem_.value_features;
    const int64_t row = problem_.global_row(head, tile.row) - grad_queries.first_row;
    scores_.scaled_queries(head, tile.row, tile.rows, memory.queries);
    const Rows<S> keys = scores_.keys(head, tile, memory.keys);
    scores_.compute(head, tile, memory.queries, keys, memory.weights);
    const MatrixRef grad_out =
        Rows<S>(saved_.grad_out, head.batch, head.head, tile.row, tile.rows, memory.grad_out)
            .matrix();
    const Rows<S> values(saved_.value, head.batch, head.key_head, tile.column, tile.columns,
                         memory.values);
    gemm(dtype_of<T>, {tile.rows, tile.columns, value_features, grad_out, values.turned(),
                       memory.grads, tile.columns, false});
    for (int64_t i = 0; i < tile.rows; ++i) weigh_row(head, tile, i, memory);

    const T* const weights = memory.dropped != nullptr ? memory.dropped : memory.weights;
    gemm(dtype_of<T>, {tile.columns,
                       value_features,
                       tile.rows,
                       {weights, 1, tile.columns},
                       grad_out,
                       grad_value.data,
                       grad_value.stride,
                       true});
    gemm(dtype_of<T>, {tile.columns,
                       features,
                       tile.rows,
                       {memory.grads, 1, tile.columns},
                       {memory.queries, features, 1},
                       grad_key.data,
                       grad_key.stride,
                       true});
    gemm(dtype_of<T>, {tile.rows,
                       features,
                       tile.columns,
                       {memory.grads, tile.columns, 1},
                       keys.matrix(),
                       grad_queries.data + row * features,
                       features,
                       true});
  }

  /// Makes the weights of a row from its scores, and the gradient of the scores.
  void weigh_row(const Head& head, const Tile& tile, int64_t i, const Memory& memory) const {
    const auto count = static_cast<size_t>(tile.columns);
    T* const weights = memory.weights + i * tile.columns;
    T* const grads = memory.grads + i * tile.columns;
    const int64_t row = problem_.global_row(head, tile.row + i);
    unary_row(ExpMinus<T>{saved_.logsumexp.as<T>()[row]}, static_cast<const T*>(weights), weights,
              count);
    if (memory.dropped != nullptr) {
      const T* const factors = memory.factors;
      scores_.drop(head, tile, i, memory.factors);
      binary_row(MulRows{}, static_cast<const T*>(weights), factors,
                 memory.dropped + i * tile.columns, count, 0);
      binary_row(MulRows{}, static_cast<const T*>(grads), factors, grads, count, 0);
    }
    binary_row(ScoreGrad<T>{deltas_[row]}, static_cast<const T*>(weights),
               static_cast<const T*>(grads), grads, count, 0);
  }

  const Problem& problem_;
  const AttentionSaved& saved_;
  Scores<S> scores_;
  const T* deltas_;
  const TensorView& grad_key_;
  const TensorView& grad_value_;
};

/// Per row: the sum of its weights times their gradients, which is that of out times grad_out.
template <typename S>
void fill_deltas(const Problem& problem, const AttentionSaved& saved, Computed<S>* deltas) {
  using T = Computed<S>;
  const int64_t features = problem.value_features, copy = Rows<S>::copy_size(1, features);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 15) / features);
  parallel_for(problem.batch * problem.heads * problem.rows, grain,
               [&](int64_t begin, int64_t end) {
                 Arrays<T> arrays{copy, copy};
                 T* const outs = arrays.next(copy);
                 T* const grads = arrays.next(copy);
                 for (int64_t i = begin; i < end; ++i) {
                   const Head head = problem.head(i / problem.rows);
                   const int64_t row = i % problem.rows;
                   const Rows<S> out(saved.out, head.batch, head.head, row, 1, outs);
                   const Rows<S> grad(saved.grad_out, head.batch, head.head, row, 1, grads);
                   deltas[i] = dot_rows(out.data(), grad.data(), features);
                 }
               });
}

/// grad_query = scale * the sum over all chunks, which is left in the first.
template <typename S>
void join_chunks(const Problem& problem, Computed<S>* first, const Computed<S>* others,
                 int64_t count, S* grad_query) {
  using T = Computed<S>;
  const int64_t all = problem.batch * problem.heads * problem.rows * problem.features;
  const ScaleBy<T> scale{static_cast<T>(problem.options.scale)};
  parallel_for(all, kGrain, [&](int64_t begin, int64_t end) {
    const auto part = static_cast<size_t>(end - begin);
    T* const to = first + begin;
    for (int64_t chunk = 0; chunk < count; ++chunk) {
      binary_row(AddRows{}, static_cast<const T*>(to), others + chunk * all + begin, to, part, 0);
    }
    unary_row(scale, static_cast<const T*>(to), to, part);
    store_row(static_cast<const T*>(to), grad_query + begin, end - begin);
  });
}

/// Runs the chunks of a head one after the other, each after the first into memory of its own that
/// is then added to `first`, as join_chunks() would.
template <typename T, typename Run>
void run_chunks_in_turn(const Problem& problem, int64_t head, int64_t chunks, T* first,
                        const Run& run) {
  run(head, 0, first, int64_t{0});
  if (chunks == 1) return;
  const int64_t own_rows = problem.group() * problem.rows;  // heads that share keys are neighbours
  const int64_t own = own_rows * problem.features, before = head * own;
  Arrays<T> arrays{own};
  T* const sums = arrays.next(own);
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    std::fill_n(sums, own, T{0});
    run(head, chunk, sums, head * own_rows);
    binary_row(AddRows{}, static_cast<const T*>(first + before), static_cast<const T*>(sums),
               first + before, static_cast<size_t>(own), 0);
  }
}

template <typename S>
void attention_backward_kernel(const Context&, const AttentionSaved& saved,
                               const AttentionOptions& options, const TensorView& grad_query,
                               const TensorView& grad_key, const TensorView& grad_value) {
  using T = Computed<S>;
  const Problem problem(saved.query, saved.key, saved.value, options);
  const int64_t heads = problem.batch * problem.key_heads;
  const int64_t blocks = (problem.columns + kKeyBlock - 1) / kKeyBlock;
  const int64_t wanted = heads >= kEnoughHeads ? 1 : std::min(kMostChunks, blocks);
  const int64_t per_chunk = (blocks + wanted - 1) / wanted * kKeyBlock;
  const int64_t chunks = (problem.columns + per_chunk - 1) / per_chunk;
  const int64_t all_rows = problem.batch * problem.heads * problem.rows;
  const int64_t all = all_rows * problem.features;
  const int64_t summed = Rows<S>::copy_size(all_rows, problem.features);
  // Where heads alone keep all threads busy, each takes whole heads and needs memory for one chunk
  // of one of them; the chunks are added up in the same order, so that the sums are the same.
  const bool by_heads = chunks == 1 || num_threads() <= heads;
  const int64_t other_chunks = by_heads ? 0 : chunks - 1;
  Arrays<T> arrays{all_rows, summed, all * other_chunks};
  T* const deltas = arrays.next(all_rows);
  T* first = arrays.next(summed);
  if constexpr (!is_half_type<S>) first = grad_query.as<T>();
  T* const others = arrays.next(all * other_chunks);
  fill_deltas<S>(problem, saved, deltas);
  std::fill_n(first, all, T{0});
  std::fill_n(others, all * other_chunks, T{0});
  const Backward<S> backward(problem, saved, deltas, grad_key, grad_value);
  const auto run = [&](int64_t head, int64_t chunk, T* sums, int64_t first_row) {
    backward.run(head / problem.key_heads, head % problem.key_heads, chunk * per_chunk,
                 std::min(problem.columns, (chunk + 1) * per_chunk), {sums, first_row});
  };
  const int64_t work = problem.rows * std::min(problem.columns, per_chunk) *
                       (problem.features + problem.value_features) * problem.group();
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / work);
  if (by_heads) {
    parallel_for(heads, grain, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) {
        run_chunks_in_turn(problem, head, chunks, first, run);
      }
    });
  } else {
    parallel_for(heads * chunks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t chunk = i % chunks;
        run(i / chunks, chunk, chunk == 0 ? first : others + (chunk - 1) * all, int64_t{0});
      }
    });
  }
  join_chunks(problem, first, others, other_chunks, grad_query.as<S>());
}

template <typename T>
void attention_dropout_kernel(const Context&, const AttentionOptions& options,
                              const TensorView& out) {
  const int64_t columns = out.sizes[3];
  const int64_t grain = std::max<int64_t>(1, kGrain / columns);
  parallel_for(out.numel / columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      dropout_row(options, columns, row, 0, columns, out.as<T>() + row * columns);
    }
  });
}

template <typename... S>
void set() {
  (attention_kernels.set_cpu(dtype_of<S>, &attention_kernel<S>), ...);
  (attention_backward_kernels.set_cpu(dtype_of<S>, &attention_backward_kernel<S>), ...);
}
template <typename... T>
void set_dropout() {
  (attention_dropout_kernels.set_cpu(dtype_of<T>, &attention_dropout_kernel<T>), ...);
}

}  // namespace

void fill_attention() {
  set<Half, BFloat16, float, double>();
  set_dropout<float, double>();
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
