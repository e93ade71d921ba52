// ebb/kernels/cpu/network/attention_tile-inl.h -- blocks of queries, keys and values, and the
// scores of a tile: what both passes of attention share.
//
// S is the type of the tensors, T the one that is computed in: half types are widened block by
// block and summed in float32. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_ATTENTION_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_ATTENTION_TILE_INL_H
#undef EBB_KERNELS_CPU_ATTENTION_TILE_INL_H
#else
#define EBB_KERNELS_CPU_ATTENTION_TILE_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/network/attention_row-inl.h"
#include "ebb/kernels/signatures_attention.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

// A tile fits into the second-level cache with what belongs to it.
constexpr int64_t kQueryBlock = 128;
constexpr int64_t kKeyBlock = 512;
template <typename S>
using Computed = std::conditional_t<is_half_type<S>, float, S>;

/// A row of a [B, H, L, E] tensor.
template <typename T>
T* row_at(const TensorView& view, int64_t batch, int64_t head, int64_t row) {
  return view.as<T>() + batch * view.strides[0] + head * view.strides[1] + row * view.strides[2];
}
/// The stride of rows as gemm() wants it: of a single row it means nothing.
int64_t row_stride(const TensorView& view) {
  return view.sizes[2] == 1 ? view.sizes[3] : view.strides[2];
}

/// Some rows of a head in the type that is computed in: the tensor's own, or a copy of them.
template <typename S>
class Rows {
 public:
  using T = Computed<S>;

  /// How many elements a copy of so many rows takes.
  static int64_t copy_size(int64_t rows, int64_t features) {
    return is_half_type<S> ? rows * features : 0;
  }
  Rows(const TensorView& view, int64_t batch, int64_t head, int64_t row, int64_t count, T* copy) {
    if constexpr (is_half_type<S>) {
      const int64_t features = view.sizes[3];
      for (int64_t i = 0; i < count; ++i) {
        widen(row_at<const S>(view, batch, head, row + i), copy + i * features,
              static_cast<size_t>(features));
      }
      data_ = copy;
      stride_ = features;
    } else {
      data_ = row_at<const T>(view, batch, head, row);
      stride_ = row_stride(view);
    }
  }
  const T* data() const { return data_; }
  MatrixRef matrix() const { return {data_, stride_, 1}; }
  MatrixRef turned() const { return {data_, 1, stride_}; }

 private:
  const T* data_;
  int64_t stride_;
};

/// A row of numbers that were computed, in the type of the tensor.
template <typename S>
void store_row(const Computed<S>* from, S* to, int64_t count) {
  if constexpr (is_half_type<S>) {
    narrow(from, to, static_cast<size_t>(count));
  } else if (from != to) {
    std::copy_n(from, count, to);
  }
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

template <typename T>
void add_row(const T* added, int64_t count, T* scores) {
  binary_row(AddRows{}, static_cast<const T*>(scores), added, scores, static_cast<size_t>(count),
             0);
}
template <typename S>
requires is_half_type<S>
void add_row(const S* added, int64_t count, float* scores) {
  constexpr int64_t kPart = 256;
  HWY_ALIGN float wide[kPart];
  for (int64_t j = 0; j < count; j += kPart) {
    const int64_t part = std::min(kPart, count - j);
    widen(added + j, wide, static_cast<size_t>(part));
    add_row(static_cast<const float*>(wide), part, scores + j);
  }
}

/// Adds a row of the mask to a row of scores, or hides what a mask of bool does not show.
template <typename S>
void mask_row(const TensorView& mask, const Head& head, int64_t row, int64_t column, int64_t count,
              Computed<S>* scores) {
  using T = Computed<S>;
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
  const S* const added = mask.as<S>() + offset;
  if (step == 1) return add_row(added, count, scores);
  for (int64_t j = 0; j < count; ++j) scores[j] += static_cast<T>(added[j * step]);
}

/// What both passes do: masked scores of a tile.
template <typename S>
class Scores {
 public:
  using T = Computed<S>;

  Scores(const Problem& problem, const TensorView& query, const TensorView& key)
      : problem_(problem), query_(query), key_(key) {}

  /// Copies a block of queries, scaled, to `to`, densely.
  void scaled_queries(const Head& head, int64_t row, int64_t rows, T* to) const {
    const auto count = static_cast<size_t>(problem_.features);
    const ScaleBy<T> scale{static_cast<T>(problem_.options.scale)};
    for (int64_t i = 0; i < rows; ++i) {
      T* const line = to + i * problem_.features;
      const auto* const from = row_at<const S>(query_, head.batch, head.head, row + i);
      if constexpr (is_half_type<S>) {
        widen(from, line, count);
        unary_row(scale, static_cast<const T*>(line), line, count);
      } else {
        unary_row(scale, from, line, count);
      }
    }
  }
  Rows<S> keys(const Head& head, const Tile& tile, T* copy) const {
    return {key_, head.batch, head.key_head, tile.column, tile.columns, copy};
  }
  /// Writes the scores of a tile, rows of tile.columns elements.
  void compute(const Head& head, const Tile& tile, const T* queries, const Rows<S>& keys,
               T* scores) const {
    gemm(dtype_of<T>, {tile.rows,
                       tile.columns,
                       problem_.features,
                       {queries, problem_.features, 1},
                       keys.turned(),
                       scores,
                       tile.columns,
                       false});
    const AttentionOptions& options = problem_.options;
    if (options.mask == nullptr && !options.is_causal) return;
    for (int64_t i = 0; i < tile.rows; ++i) {
      T* const row = scores + i * tile.columns;
      if (options.mask != nullptr) {
        mask_row<S>(*options.mask, head, tile.row + i, tile.column, tile.columns, row);
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

}  // namespace
}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
