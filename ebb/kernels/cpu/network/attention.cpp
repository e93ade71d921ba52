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
#include <cstring>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/network/attention-inl.h"
#include "ebb/kernels/tables/attention_backward.h"
#include "ebb/kernels/tables/attention_dropout.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

// A tile fits into the second-level cache with what belongs to it.
constexpr int64_t kQueryBlock = 128;
constexpr int64_t kKeyBlock = 512;
// The keys of one head are cut into at most so many chunks in the backward pass, each with a
// gradient of the queries of its own; with so many heads they are not cut.
constexpr int64_t kMostChunks = 4;
constexpr int64_t kEnoughHeads = 16;

/// A row of a [B, H, L, E] tensor.
template <typename T>
T* row_at(const TensorView& view, int64_t batch, int64_t head, int64_t row) {
  return view.as<T>() + batch * view.strides[0] + head * view.strides[1] + row * view.strides[2];
}
/// The stride of rows as gemm() wants it: of a single row it means nothing.
int64_t row_stride(const TensorView& view) {
  return view.sizes[2] == 1 ? view.sizes[3] : view.strides[2];
}

/// A head of one batch entry, and the head of keys and values that it uses.
struct Head {
  int64_t batch, head, key_head;
};

/// Sizes and options of one call.
struct Problem {
  int64_t batch, heads, key_heads, rows, columns, features, value_features;
  const AttentionOptions& options;

  Problem(const TensorView& query, const TensorView& key, const TensorView& value,
          const AttentionOptions& options)
      : batch(query.sizes[0]),
        heads(query.sizes[1]),
        key_heads(key.sizes[1]),
        rows(query.sizes[2]),
        columns(key.sizes[2]),
        features(query.sizes[3]),
        value_features(value.sizes[3]),
        options(options) {}

  int64_t group() const { return heads / key_heads; }
  Head head(int64_t index) const {
    const int64_t head = index % heads;
    return {index / heads, head, head / group()};
  }
  /// How many columns of a block the last of some rows still sees.
  int64_t seen(int64_t row_end, int64_t column, int64_t count) const {
    return options.is_causal ? std::min(count, row_end - column) : count;
  }
  int64_t global_row(const Head& head, int64_t row) const {
    return (head.batch * heads + head.head) * rows + row;
  }
};

/// A block of queries times a block of keys.
struct Tile {
  int64_t row, rows, column, columns;
};

/// row[j] = what weight number (row, column + j) is multiplied by.
template <typename T>
void dropout_row(const AttentionOptions& options, int64_t total_columns, int64_t row,
                 int64_t column, int64_t count, T* factors) {
  const double keep = 1.0 - options.dropout;
  const auto grown = static_cast<T>(keep > 0 ? 1.0 / keep : 0.0);
  // A word below the threshold drops; all do if the probability is 1.
  const auto threshold = static_cast<uint64_t>(options.dropout * 4294967296.0);
  const auto first = static_cast<uint64_t>(row * ((total_columns + 3) / 4));
  for (int64_t j = 0; j < count;) {
    const int64_t at = column + j;
    const auto words = random_words(options.state, first + static_cast<uint64_t>(at / 4));
    for (int64_t k = at % 4; k < 4 && j < count; ++k, ++j) {
      factors[j] = words[static_cast<size_t>(k)] < threshold ? T{0} : grown;
    }
  }
}

/// Adds a row of the mask to a row of scores, or hides what a mask of bool does not show.
template <typename T>
void mask_row(const TensorView& mask, const Head& head, int64_t row, int64_t column, int64_t count,
              T* scores) {
  const int64_t offset = head.batch * mask.strides[0] + head.head * mask.strides[1] +
                         row * mask.strides[2] + column * mask.strides[3];
  const int64_t step = mask.strides[3];
  if (mask.dtype == DType::boolean) {
    const bool* const shown = mask.as<bool>() + offset;
    for (int64_t j = 0; j < count; ++j) {
      if (!shown[j * step]) scores[j] = kMinusInfinity<T>;
    }
    return;
  }
  const T* const added = mask.as<T>() + offset;
  if (step == 1) {
    return binary_row(AddRows{}, static_cast<const T*>(scores), added, scores,
                      static_cast<size_t>(count), 0);
  }
  for (int64_t j = 0; j < count; ++j) scores[j] += added[j * step];
}

/// What both passes do: masked scores of a tile.
template <typename T>
class Scores {
 public:
  Scores(const Problem& problem, const TensorView& query, const TensorView& key)
      : problem_(problem), query_(query), key_(key) {}

  /// Copies a block of queries, scaled, to `to`, densely.
  void scaled_queries(const Head& head, int64_t row, int64_t rows, T* to) const {
    const auto count = static_cast<size_t>(problem_.features);
    for (int64_t i = 0; i < rows; ++i) {
      unary_row(ScaleBy<T>{static_cast<T>(problem_.options.scale)},
                row_at<const T>(query_, head.batch, head.head, row + i), to + i * problem_.features,
                count);
    }
  }
  /// Writes the scores of a tile, rows of tile.columns elements.
  void compute(const Head& head, const Tile& tile, const T* queries, T* scores) const {
    const MatrixRef keys{row_at<T>(key_, head.batch, head.key_head, tile.column), 1,
                         row_stride(key_)};
    gemm(dtype_of<T>, {tile.rows,
                       tile.columns,
                       problem_.features,
                       {queries, problem_.features, 1},
                       keys,
                       scores,
                       tile.columns,
                       false});
    const AttentionOptions& options = problem_.options;
    if (options.mask == nullptr && !options.is_causal) return;
    for (int64_t i = 0; i < tile.rows; ++i) {
      T* const row = scores + i * tile.columns;
      if (options.mask != nullptr) {
        mask_row(*options.mask, head, tile.row + i, tile.column, tile.columns, row);
      }
      const int64_t seen = problem_.seen(tile.row + i + 1, tile.column, tile.columns);
      for (int64_t j = std::max<int64_t>(0, seen); j < tile.columns; ++j) {
        row[j] = kMinusInfinity<T>;
      }
    }
  }
  void drop(const Head& head, const Tile& tile, int64_t i, T* factors) const {
    dropout_row(problem_.options, problem_.columns, problem_.global_row(head, tile.row + i),
                tile.column, tile.columns, factors);
  }

 private:
  const Problem& problem_;
  const TensorView& query_;
  const TensorView& key_;
};

/// Memory of a thread, cut into arrays that each start on a cache line.
template <typename T>
class Arrays {
 public:
  explicit Arrays(std::initializer_list<int64_t> counts) : scratch_(total(counts)) {}
  T* next(int64_t count) {
    T* const array = scratch_.as<T>() + used_;
    used_ += rounded(count);
    return array;
  }

 private:
  static int64_t rounded(int64_t count) { return (count + 15) / 16 * 16; }
  static size_t total(std::initializer_list<int64_t> counts) {
    int64_t sum = 16;
    for (const int64_t count : counts) sum += rounded(count);
    return static_cast<size_t>(sum) * sizeof(T);
  }
  Scratch scratch_;
  int64_t used_ = 0;
};

/// One block of queries of one head against all keys.
template <typename T>
class Forward {
 public:
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
    Arrays<T> arrays{sizes[0], sizes[1], sizes[2], sizes[3], sizes[3], sizes[4]};
    T* const queries = arrays.next(sizes[0]);
    T* const weights = arrays.next(sizes[1]);
    const Sums sums{arrays.next(sizes[2]), arrays.next(rows), arrays.next(rows)};
    T* const factors = arrays.next(width);
    scores_.scaled_queries(head, row, rows, queries);
    std::fill_n(sums.values, sizes[2], T{0});
    std::fill_n(sums.top, rows, kMinusInfinity<T>);
    std::fill_n(sums.total, rows, T{0});
    for (int64_t column = 0; column < problem_.columns; column += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, problem_.columns - column);
      const Tile tile{row, rows, column, problem_.seen(row + rows, column, count)};
      if (tile.columns <= 0) break;
      scores_.compute(head, tile, queries, weights);
      for (int64_t i = 0; i < rows; ++i) {
        T* const line = weights + i * tile.columns;
        add_exponentials(sums, i, line, tile.columns);
        if (problem_.options.dropout > 0) {
          scores_.drop(head, tile, i, factors);
          binary_row(MulRows{}, static_cast<const T*>(line), static_cast<const T*>(factors), line,
                     static_cast<size_t>(tile.columns), 0);
        }
      }
      gemm(dtype_of<T>,
           {rows,
            problem_.value_features,
            tile.columns,
            {weights, tile.columns, 1},
            {row_at<T>(value_, head.batch, head.key_head, column), row_stride(value_), 1},
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
      unary_row(ScaleBy<T>{factor},
                static_cast<const T*>(sums.values + i * problem_.value_features),
                row_at<T>(out_, head.batch, head.head, row + i),
                static_cast<size_t>(problem_.value_features));
      logsumexp_.as<T>()[problem_.global_row(head, row + i)] =
          total == T{0} ? -kMinusInfinity<T> : sums.top[i] + log_scalar(total);
    }
  }

  const Problem& problem_;
  Scores<T> scores_;
  const TensorView& value_;
  const TensorView& out_;
  const TensorView& logsumexp_;
};

template <typename T>
void attention_kernel(const Context&, const TensorView& query, const TensorView& key,
                      const TensorView& value, const AttentionOptions& options,
                      const TensorView& out, const TensorView& logsumexp) {
  const Problem problem(query, key, value, options);
  const Forward<T> forward(problem, query, key, value, out, logsumexp);
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
template <typename T>
class Backward {
 public:
  Backward(const Problem& problem, const AttentionSaved& saved, const T* deltas,
           const TensorView& grad_key, const TensorView& grad_value)
      : problem_(problem),
        saved_(saved),
        scores_(problem, saved.query, saved.key),
        deltas_(deltas),
        grad_key_(grad_key),
        grad_value_(grad_value) {}

  /// `grad_queries`: [B, H, L, E], zeros, for this chunk alone.
  void run(int64_t batch, int64_t key_head, int64_t begin, int64_t end, T* grad_queries) const {
    const int64_t width = std::min(kKeyBlock, problem_.columns);
    const int64_t height = std::min(kQueryBlock, problem_.rows);
    const int64_t queries = height * problem_.features, area = height * width;
    Arrays<T> arrays{queries, area, area, area, width};
    const Memory memory{arrays.next(queries), arrays.next(area), arrays.next(area),
                        problem_.options.dropout > 0 ? arrays.next(area) : nullptr,
                        problem_.options.dropout > 0 ? arrays.next(width) : nullptr};
    for (int64_t column = begin; column < end; column += kKeyBlock) {
      const int64_t count = std::min(kKeyBlock, end - column);
      clear_rows(grad_key_, batch, key_head, column, count);
      clear_rows(grad_value_, batch, key_head, column, count);
      for (int64_t member = 0; member < problem_.group(); ++member) {
        const Head head{batch, key_head * problem_.group() + member, key_head};
        const int64_t first =
            problem_.options.is_causal ? column / kQueryBlock * kQueryBlock : int64_t{0};
        for (int64_t row = first; row < problem_.rows; row += kQueryBlock) {
          const int64_t rows = std::min(kQueryBlock, problem_.rows - row);
          const Tile tile{row, rows, column, problem_.seen(row + rows, column, count)};
          if (tile.columns > 0) run_tile(head, tile, memory, grad_queries);
        }
      }
    }
  }

 private:
  struct Memory {
    T* queries;
    T* weights;
    T* grads;    // of the weights, then of the scores
    T* dropped;  // the weights after dropout, or null
    T* factors;
  };

  static void clear_rows(const TensorView& view, int64_t batch, int64_t head, int64_t row,
                         int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      std::fill_n(row_at<T>(view, batch, head, row + i), view.sizes[3], T{0});
    }
  }

  void run_tile(const Head& head, const Tile& tile, const Memory& memory, T* grad_queries) const {
    const int64_t features = problem_.features, value_features = problem_.value_features;
    scores_.scaled_queries(head, tile.row, tile.rows, memory.queries);
    scores_.compute(head, tile, memory.queries, memory.weights);
    const MatrixRef grad_out{row_at<T>(saved_.grad_out, head.batch, head.head, tile.row),
                             row_stride(saved_.grad_out), 1};
    const MatrixRef values{row_at<T>(saved_.value, head.batch, head.key_head, tile.column), 1,
                           row_stride(saved_.value)};
    gemm(dtype_of<T>, {tile.rows, tile.columns, value_features, grad_out, values, memory.grads,
                       tile.columns, false});
    for (int64_t i = 0; i < tile.rows; ++i) weigh_row(head, tile, i, memory);

    const T* const weights = memory.dropped != nullptr ? memory.dropped : memory.weights;
    gemm(dtype_of<T>, {tile.columns,
                       value_features,
                       tile.rows,
                       {weights, 1, tile.columns},
                       grad_out,
                       row_at<T>(grad_value_, head.batch, head.key_head, tile.column),
                       row_stride(grad_value_),
                       true});
    gemm(dtype_of<T>, {tile.columns,
                       features,
                       tile.rows,
                       {memory.grads, 1, tile.columns},
                       {memory.queries, features, 1},
                       row_at<T>(grad_key_, head.batch, head.key_head, tile.column),
                       row_stride(grad_key_),
                       true});
    const MatrixRef keys{row_at<T>(saved_.key, head.batch, head.key_head, tile.column),
                         row_stride(saved_.key), 1};
    gemm(dtype_of<T>, {tile.rows,
                       features,
                       tile.columns,
                       {memory.grads, tile.columns, 1},
                       keys,
                       grad_queries + problem_.global_row(head, tile.row) * features,
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
  Scores<T> scores_;
  const T* deltas_;
  const TensorView& grad_key_;
  const TensorView& grad_value_;
};

/// Per row: the sum of its weights times their gradients, which is that of out times grad_out.
template <typename T>
void fill_deltas(const Problem& problem, const AttentionSaved& saved, T* deltas) {
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 15) / problem.value_features);
  parallel_for(problem.batch * problem.heads * problem.rows, grain,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Head head = problem.head(i / problem.rows);
                   const int64_t row = i % problem.rows;
                   deltas[i] = dot_rows(row_at<const T>(saved.out, head.batch, head.head, row),
                                        row_at<const T>(saved.grad_out, head.batch, head.head, row),
                                        problem.value_features);
                 }
               });
}

/// grad_query = scale * the sum over all chunks; the first lies in grad_query itself.
template <typename T>
void join_chunks(const Problem& problem, const T* others, int64_t count, T* grad_query) {
  const int64_t all = problem.batch * problem.heads * problem.rows * problem.features;
  const ScaleBy<T> scale{static_cast<T>(problem.options.scale)};
  parallel_for(all, kGrain, [&](int64_t begin, int64_t end) {
    const auto part = static_cast<size_t>(end - begin);
    T* const to = grad_query + begin;
    for (int64_t chunk = 0; chunk < count; ++chunk) {
      binary_row(AddRows{}, static_cast<const T*>(to), others + chunk * all + begin, to, part, 0);
    }
    unary_row(scale, static_cast<const T*>(to), to, part);
  });
}

template <typename T>
void attention_backward_kernel(const Context&, const AttentionSaved& saved,
                               const AttentionOptions& options, const TensorView& grad_query,
                               const TensorView& grad_key, const TensorView& grad_value) {
  const Problem problem(saved.query, saved.key, saved.value, options);
  const int64_t heads = problem.batch * problem.key_heads;
  const int64_t blocks = (problem.columns + kKeyBlock - 1) / kKeyBlock;
  const int64_t wanted = heads >= kEnoughHeads ? 1 : std::min(kMostChunks, blocks);
  const int64_t per_chunk = (blocks + wanted - 1) / wanted * kKeyBlock;
  const int64_t chunks = (problem.columns + per_chunk - 1) / per_chunk;
  const int64_t all_rows = problem.batch * problem.heads * problem.rows;
  const int64_t all = all_rows * problem.features;
  Arrays<T> arrays{all_rows, all * (chunks - 1)};
  T* const deltas = arrays.next(all_rows);
  T* const others = arrays.next(all * (chunks - 1));
  fill_deltas(problem, saved, deltas);
  std::fill_n(grad_query.as<T>(), all, T{0});
  std::fill_n(others, all * (chunks - 1), T{0});
  const Backward<T> backward(problem, saved, deltas, grad_key, grad_value);
  const int64_t work = problem.rows * std::min(problem.columns, per_chunk) *
                       (problem.features + problem.value_features) * problem.group();
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / work);
  parallel_for(heads * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / chunks, chunk = i % chunks;
      backward.run(head / problem.key_heads, head % problem.key_heads, chunk * per_chunk,
                   std::min(problem.columns, (chunk + 1) * per_chunk),
                   chunk == 0 ? grad_query.as<T>() : others + (chunk - 1) * all);
    }
  });
  join_chunks(problem, others, chunks - 1, grad_query.as<T>());
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

template <typename... T>
void set() {
  (attention_kernels.set_cpu(dtype_of<T>, &attention_kernel<T>), ...);
  (attention_backward_kernels.set_cpu(dtype_of<T>, &attention_backward_kernel<T>), ...);
  (attention_dropout_kernels.set_cpu(dtype_of<T>, &attention_dropout_kernel<T>), ...);
}

}  // namespace

void fill_attention() { set<float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
