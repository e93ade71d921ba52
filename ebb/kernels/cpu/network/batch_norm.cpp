// ebb/kernels/cpu/network/batch_norm.cpp -- channels normalised over all samples, and the
// gradients.
//
// A channel is one run of `inner` elements per sample. Long runs: each channel goes through the
// cache block by block; a block gives its mean and its squares around that mean, and blocks are
// joined in order in float64 (Chan's formula), so memory is read once for the statistics and
// nothing cancels. Short runs (fully connected layers have runs of 1): columns of neighbouring
// channels are added up row by row. Blocks depend on the sizes alone.
#include "ebb/kernels/tables/batch_norm.h"

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/norm-inl.h"
#include "ebb/kernels/tables/batch_norm_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 8192;     // elements of a channel that are worked on at a time
constexpr int64_t kShortRun = 16;    // runs shorter than this go by columns
constexpr int64_t kRowChunk = 64;    // rows that are added up before float64 takes over
constexpr int64_t kFewChannels = 8;  // fewer channels than this share the threads' work by blocks

/// Operands by name; null where absent.
template <typename T>
struct Operands {
  using Acc = AccumulatorOf<T>;
  const T* grad = nullptr;
  const T* input = nullptr;
  const Acc* weight = nullptr;
  const Acc* bias = nullptr;
  Acc* mean = nullptr;
  Acc* var = nullptr;
  T* out = nullptr;  // the result, or grad_input
  Acc* grad_weight = nullptr;
  Acc* grad_bias = nullptr;

  Acc weight_at(int64_t channel) const { return weight == nullptr ? Acc{1} : weight[channel]; }
  Acc bias_at(int64_t channel) const { return bias == nullptr ? Acc{0} : bias[channel]; }
};

/// What grad_input needs once the sums over a channel are known.
template <typename T>
GradFactors<T> factors_of(const ChannelNorm& norm, T rstd, T weight, double sum, double product) {
  const T scale = rstd * weight;
  if (!norm.is_training) return {scale, T{0}, T{0}};
  const double count = static_cast<double>(norm.samples * norm.inner);
  const double wide = rstd;
  return {scale, static_cast<T>(-scale * wide * wide * product / count),
          static_cast<T>(-scale * sum / count)};
}

// --- Long runs ---------------------------------------------------------------------------------

/// The elements of one channel in blocks of whole runs, or of parts of one run.
struct ChannelBlocks {
  int64_t inner, sample_stride, samples;
  int64_t runs_per_block, blocks_per_run, count;

  explicit ChannelBlocks(const ChannelNorm& norm)
      : inner(norm.inner), sample_stride(norm.channels * norm.inner), samples(norm.samples) {
    runs_per_block = std::max<int64_t>(1, kBlock / inner);
    blocks_per_run = (inner + kBlock - 1) / kBlock;
    count = blocks_per_run > 1 ? samples * blocks_per_run
                               : (samples + runs_per_block - 1) / runs_per_block;
  }
  int64_t size_of(int64_t block) const {
    if (blocks_per_run > 1) return std::min(kBlock, inner - block % blocks_per_run * kBlock);
    return inner * std::min(runs_per_block, samples - block * runs_per_block);
  }
  /// Calls body(offset, count) for the dense parts of a block.
  template <class Body>
  HWY_INLINE void visit(int64_t block, Body body) const {
    if (blocks_per_run > 1) {
      const int64_t begin = block % blocks_per_run * kBlock;
      return body(block / blocks_per_run * sample_stride + begin, size_of(block));
    }
    const int64_t end = std::min(samples, (block + 1) * runs_per_block);
    for (int64_t run = block * runs_per_block; run < end; ++run) body(run * sample_stride, inner);
  }
};

/// Count, mean and squares around the mean, or two sums: what a block gives.
struct BlockSums {
  double first = 0, second = 0;
};

template <typename T>
BlockSums moments_of_block(const ChannelBlocks& blocks, int64_t block, const T* channel) {
  using Acc = AccumulatorOf<T>;
  const hn::ScalableTag<Acc> d;
  auto sum = hn::Zero(d);
  blocks.visit(block, [&](int64_t at, int64_t run) HWY_ATTR {
    sum = hn::Add(sum, reduce_leaf(SumOp{}, d, channel + at, static_cast<size_t>(run)));
  });
  const Acc count = static_cast<Acc>(blocks.size_of(block));
  const Acc mean = hn::GetLane(hn::SumOfLanes(d, sum)) / count;
  auto squares = hn::Zero(d);
  blocks.visit(block, [&](int64_t at, int64_t run) HWY_ATTR {
    squares = hn::Add(squares, squares_leaf(d, channel + at, static_cast<size_t>(run), mean));
  });
  return {mean, hn::GetLane(hn::SumOfLanes(d, squares))};
}

/// Mean and variance of a channel from the moments of its blocks, in order.
inline BlockSums join_moments(const ChannelBlocks& blocks, const BlockSums* parts) {
  double count = 0, mean = 0, squares = 0;
  for (int64_t block = 0; block < blocks.count; ++block) {
    const double added = static_cast<double>(blocks.size_of(block));
    const double total = count + added, delta = parts[block].first - mean;
    mean += delta * (added / total);
    squares += parts[block].second + delta * delta * (count * added / total);
    count = total;
  }
  return {mean, squares / count};
}

/// Calls body(begin, end) over the blocks of a channel, on all threads if channels are few.
template <class Body>
HWY_INLINE void for_blocks(const ChannelBlocks& blocks, Body body) {
  parallel_for(blocks.count, std::max<int64_t>(1, kGrain / kBlock), body);
}

template <typename T>
void forward_channel(const ChannelNorm& norm, const ChannelBlocks& blocks, const Operands<T>& with,
                     int64_t channel, BlockSums* parts) {
  using Acc = AccumulatorOf<T>;
  const T* const in = with.input + channel * norm.inner;
  T* const out = with.out + channel * norm.inner;
  if (norm.is_training) {
    for_blocks(blocks, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t i = begin; i < end; ++i) parts[i] = moments_of_block(blocks, i, in);
    });
    const BlockSums moments = join_moments(blocks, parts);
    with.mean[channel] = static_cast<Acc>(moments.first);
    with.var[channel] = static_cast<Acc>(moments.second);
  }
  const Acc mean = with.mean[channel];
  const Acc scale = inverse_deviation(with.var[channel], norm.eps) * with.weight_at(channel);
  const Acc shift = with.bias_at(channel);
  for_blocks(blocks, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t block = begin; block < end; ++block) {
      blocks.visit(block, [&](int64_t at, int64_t run) HWY_ATTR {
        affine_run(in + at, mean, scale, shift, out + at, static_cast<size_t>(run));
      });
    }
  });
}

/// The sums of grad and grad * (x - mean) over a block.
template <typename T>
BlockSums products_of_block(const ChannelBlocks& blocks, int64_t block, const T* grads,
                            const T* channel, AccumulatorOf<T> mean) {
  using Acc = AccumulatorOf<T>;
  const hn::ScalableTag<Acc> d;
  auto sum = hn::Zero(d), product = hn::Zero(d);
  blocks.visit(block, [&](int64_t at, int64_t run) HWY_ATTR {
    const auto part = product_leaf(d, grads + at, channel + at, static_cast<size_t>(run), mean);
    sum = hn::Add(sum, part.first);
    product = hn::Add(product, part.second);
  });
  return {hn::GetLane(hn::SumOfLanes(d, sum)), hn::GetLane(hn::SumOfLanes(d, product))};
}

template <typename T>
void backward_channel(const ChannelNorm& norm, const ChannelBlocks& blocks, const Operands<T>& with,
                      int64_t channel, BlockSums* parts) {
  using Acc = AccumulatorOf<T>;
  const int64_t first = channel * norm.inner;
  const T* const in = with.input + first;
  const T* const grad = with.grad + first;
  const Acc mean = with.mean[channel], rstd = inverse_deviation(with.var[channel], norm.eps);
  BlockSums sums;
  const bool wants_sums = with.grad_weight != nullptr || with.grad_bias != nullptr;
  if (norm.is_training || wants_sums) {
    for_blocks(blocks, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t i = begin; i < end; ++i) {
        parts[i] = products_of_block(blocks, i, grad, in, mean);
      }
    });
    for (int64_t block = 0; block < blocks.count; ++block) {
      sums.first += parts[block].first;
      sums.second += parts[block].second;
    }
  }
  if (with.grad_weight != nullptr) with.grad_weight[channel] = static_cast<Acc>(sums.second * rstd);
  if (with.grad_bias != nullptr) with.grad_bias[channel] = static_cast<Acc>(sums.first);
  if (with.out == nullptr) return;
  const auto factors = factors_of(norm, rstd, with.weight_at(channel), sums.first, sums.second);
  for_blocks(blocks, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t block = begin; block < end; ++block) {
      blocks.visit(block, [&](int64_t at, int64_t run) HWY_ATTR {
        grad_run(grad + at, in + at, mean, factors, with.out + first + at,
                 static_cast<size_t>(run));
      });
    }
  });
}

/// Calls body(channel, parts) for all channels: side by side, or one after the other if they are
/// few, so that their blocks can be shared out. `parts` has room for one element per block.
template <class Body>
void for_channels(const ChannelNorm& norm, const ChannelBlocks& blocks, Body body) {
  const int64_t size = norm.samples * norm.inner;
  const bool is_few = norm.channels < kFewChannels;
  const int64_t grain = is_few ? norm.channels : std::max<int64_t>(1, kGrain / size);
  parallel_for(norm.channels, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(blocks.count) * sizeof(BlockSums));
    for (int64_t channel = begin; channel < end; ++channel) body(channel, scratch.as<BlockSums>());
  });
}

// --- Short runs --------------------------------------------------------------------------------

/// Neighbouring channels whose columns are worked on together.
template <typename T>
struct Columns {
  using Acc = AccumulatorOf<T>;
  const ChannelNorm& norm;
  int64_t first_channel, channels;

  int64_t begin() const { return first_channel * norm.inner; }
  size_t count() const { return static_cast<size_t>(channels * norm.inner); }
  int64_t stride() const { return norm.channels * norm.inner; }
  double per_channel() const { return static_cast<double>(norm.samples * norm.inner); }

  /// Where row number `row` of a tensor starts.
  template <typename U>
  HWY_INLINE U* row(U* tensor, int64_t row) const {
    return tensor + begin() + row * stride();
  }
  /// per_column[i] = per_channel[channel of i].
  void spread(const Acc* per_channel, Acc* per_column) const {
    for (int64_t i = 0; i < channels * norm.inner; ++i) {
      per_column[i] = per_channel[i / norm.inner];
    }
  }
  /// Adds add(row, sums) for all rows; totals[c] = the sums of the columns of channel c.
  template <class Add>
  HWY_INLINE void sum_rows(Acc* sums, double* totals, Add add) const {
    std::fill_n(totals, channels, 0.0);
    for (int64_t row = 0; row < norm.samples; row += kRowChunk) {
      std::fill_n(sums, count(), Acc{0});
      const int64_t end = std::min(norm.samples, row + kRowChunk);
      for (int64_t i = row; i < end; ++i) add(i, sums);
      for (int64_t i = 0; i < channels * norm.inner; ++i) totals[i / norm.inner] += sums[i];
    }
  }
};

constexpr int64_t kMaxColumns = 256;

/// Room on the stack for the columns of one piece.
template <typename Acc>
struct ColumnRoom {
  HWY_ALIGN Acc mean[kMaxColumns];
  HWY_ALIGN Acc scale[kMaxColumns];
  HWY_ALIGN Acc shift[kMaxColumns];
  HWY_ALIGN Acc sums[kMaxColumns];
  HWY_ALIGN Acc more_sums[kMaxColumns];
  Acc per_channel[3][kMaxColumns];
  double totals[kMaxColumns];
  double more_totals[kMaxColumns];
};

/// Calls op(load, store) for every vector of `count` columns, the last one masked.
template <typename T, class Op>
HWY_INLINE void for_each_vector(size_t count, Op op) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  const auto load = [&](const auto* from) HWY_ATTR { return load_lanes(d, from + i); };
  const auto store = [&](auto v, auto* to) HWY_ATTR { store_lanes(v, d, to + i); };
  for (; i + lanes <= count; i += lanes) op(load, store);
  if (i == count) return;
  const size_t rest = count - i;
  const auto load_rest = [&](const auto* from) HWY_ATTR { return load_first(d, from + i, rest); };
  const auto store_rest = [&](auto v, auto* to) HWY_ATTR { store_first(v, d, to + i, rest); };
  op(load_rest, store_rest);
}

template <typename T>
void column_moments(const Columns<T>& columns, const Operands<T>& with,
                    ColumnRoom<AccumulatorOf<T>>& room) {
  using Acc = AccumulatorOf<T>;
  Acc* const means = with.mean + columns.first_channel;
  Acc* const vars = with.var + columns.first_channel;
  columns.sum_rows(room.sums, room.totals, [&](int64_t row, Acc* sums) HWY_ATTR {
    add_elements(SumOp{}, sums, columns.row(with.input, row), columns.count());
  });
  for (int64_t i = 0; i < columns.channels; ++i) {
    means[i] = static_cast<Acc>(room.totals[i] / columns.per_channel());
  }
  columns.spread(means, room.mean);
  columns.sum_rows(room.sums, room.totals, [&](int64_t row, Acc* sums) HWY_ATTR {
    const T* const in = columns.row(with.input, row);
    for_each_vector<Acc>(columns.count(), [&](auto load, auto store) HWY_ATTR {
      const auto centred = hn::Sub(load(in), load(room.mean));
      store(hn::MulAdd(centred, centred, load(sums)), sums);
    });
  });
  for (int64_t i = 0; i < columns.channels; ++i) {
    vars[i] = static_cast<Acc>(room.totals[i] / columns.per_channel());
  }
}

template <typename T>
void forward_columns(const Columns<T>& columns, const Operands<T>& with) {
  using Acc = AccumulatorOf<T>;
  ColumnRoom<Acc> room;
  if (columns.norm.is_training) column_moments(columns, with, room);
  for (int64_t i = 0; i < columns.channels; ++i) {
    const int64_t channel = columns.first_channel + i;
    room.per_channel[0][i] =
        inverse_deviation(with.var[channel], columns.norm.eps) * with.weight_at(channel);
    room.per_channel[1][i] = with.bias_at(channel);
  }
  columns.spread(with.mean + columns.first_channel, room.mean);
  columns.spread(room.per_channel[0], room.scale);
  columns.spread(room.per_channel[1], room.shift);
  for (int64_t row = 0; row < columns.norm.samples; ++row) {
    const T* const in = columns.row(with.input, row);
    T* const out = columns.row(with.out, row);
    for_each_vector<Acc>(columns.count(), [&](auto load, auto store) HWY_ATTR {
      const auto centred = hn::Sub(load(in), load(room.mean));
      store(hn::MulAdd(centred, load(room.scale), load(room.shift)), out);
    });
  }
}

/// The sums of grad and grad * (x - mean) of each channel, to totals and more_totals.
template <typename T>
void column_products(const Columns<T>& columns, const Operands<T>& with,
                     ColumnRoom<AccumulatorOf<T>>& room) {
  using Acc = AccumulatorOf<T>;
  columns.sum_rows(room.sums, room.totals, [&](int64_t row, Acc* sums) HWY_ATTR {
    add_elements(SumOp{}, sums, columns.row(with.grad, row), columns.count());
  });
  columns.sum_rows(room.more_sums, room.more_totals, [&](int64_t row, Acc* sums) HWY_ATTR {
    const T* const grad = columns.row(with.grad, row);
    const T* const in = columns.row(with.input, row);
    for_each_vector<Acc>(columns.count(), [&](auto load, auto store) HWY_ATTR {
      const auto centred = hn::Sub(load(in), load(room.mean));
      store(hn::MulAdd(load(grad), centred, load(sums)), sums);
    });
  });
}

template <typename T>
void backward_columns(const Columns<T>& columns, const Operands<T>& with) {
  using Acc = AccumulatorOf<T>;
  ColumnRoom<Acc> room;
  columns.spread(with.mean + columns.first_channel, room.mean);
  column_products(columns, with, room);
  for (int64_t i = 0; i < columns.channels; ++i) {
    const int64_t channel = columns.first_channel + i;
    const Acc rstd = inverse_deviation(with.var[channel], columns.norm.eps);
    const double sum = room.totals[i], product = room.more_totals[i];
    if (with.grad_weight != nullptr) with.grad_weight[channel] = static_cast<Acc>(product * rstd);
    if (with.grad_bias != nullptr) with.grad_bias[channel] = static_cast<Acc>(sum);
    const auto factors = factors_of(columns.norm, rstd, with.weight_at(channel), sum, product);
    room.per_channel[0][i] = factors.of_grad;
    room.per_channel[1][i] = factors.of_centred;
    room.per_channel[2][i] = factors.constant;
  }
  if (with.out == nullptr) return;
  columns.spread(room.per_channel[0], room.scale);
  columns.spread(room.per_channel[1], room.sums);
  columns.spread(room.per_channel[2], room.shift);
  for (int64_t row = 0; row < columns.norm.samples; ++row) {
    const T* const grad = columns.row(with.grad, row);
    const T* const in = columns.row(with.input, row);
    T* const out = columns.row(with.out, row);
    for_each_vector<Acc>(columns.count(), [&](auto load, auto store) HWY_ATTR {
      const auto lead = hn::MulAdd(load(grad), load(room.scale), load(room.shift));
      const auto centred = hn::Sub(load(in), load(room.mean));
      store(hn::MulAdd(centred, load(room.sums), lead), out);
    });
  }
}

/// Calls body(columns) for groups of channels of at most kMaxColumns columns.
template <typename T, class Body>
void for_columns(const ChannelNorm& norm, Body body) {
  const int64_t together = kMaxColumns / norm.inner;
  const int64_t groups = (norm.channels + together - 1) / together;
  const int64_t grain = std::max<int64_t>(1, kGrain / (norm.samples * together * norm.inner));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * together;
      body(Columns<T>{norm, first, std::min(together, norm.channels - first)});
    }
  });
}

// --- Kernels -----------------------------------------------------------------------------------

template <typename T>
void batch_norm_kernel(const Context&, const ChannelNorm& norm, const TensorView& input,
                       const TensorView* weight, const TensorView* bias, const TensorView& mean,
                       const TensorView& var, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  Operands<T> with;
  with.input = input.as<const T>();
  with.weight = optional_data<Acc>(weight);
  with.bias = optional_data<Acc>(bias);
  with.mean = mean.as<Acc>();
  with.var = var.as<Acc>();
  with.out = out.as<T>();
  if (norm.inner < kShortRun) {
    return for_columns<T>(norm, [&](const Columns<T>& some) { forward_columns(some, with); });
  }
  const ChannelBlocks blocks(norm);
  for_channels(norm, blocks, [&](int64_t channel, BlockSums* parts) {
    forward_channel(norm, blocks, with, channel, parts);
  });
}

template <typename T>
void batch_norm_backward_kernel(const Context&, const ChannelNorm& norm, const TensorView& grad_out,
                                const TensorView& input, const TensorView* weight,
                                const TensorView& mean, const TensorView& var,
                                const TensorView* grad_input, const TensorView* grad_weight,
                                const TensorView* grad_bias) {
  using Acc = AccumulatorOf<T>;
  Operands<T> with;
  with.grad = grad_out.as<const T>();
  with.input = input.as<const T>();
  with.weight = optional_data<Acc>(weight);
  with.mean = mean.as<Acc>();
  with.var = var.as<Acc>();
  with.out = grad_input == nullptr ? nullptr : grad_input->as<T>();
  with.grad_weight = grad_weight == nullptr ? nullptr : grad_weight->as<Acc>();
  with.grad_bias = grad_bias == nullptr ? nullptr : grad_bias->as<Acc>();
  if (input.numel == 0) {
    if (with.grad_weight != nullptr) std::fill_n(with.grad_weight, norm.channels, Acc{0});
    if (with.grad_bias != nullptr) std::fill_n(with.grad_bias, norm.channels, Acc{0});
    return;
  }
  if (norm.inner < kShortRun) {
    return for_columns<T>(norm, [&](const Columns<T>& some) { backward_columns(some, with); });
  }
  const ChannelBlocks blocks(norm);
  for_channels(norm, blocks, [&](int64_t channel, BlockSums* parts) {
    backward_channel(norm, blocks, with, channel, parts);
  });
}

template <typename... T>
void set() {
  (batch_norm_kernels.set_cpu(dtype_of<T>, &batch_norm_kernel<T>), ...);
  (batch_norm_backward_kernels.set_cpu(dtype_of<T>, &batch_norm_backward_kernel<T>), ...);
}

}  // namespace

void fill_batch_norm() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
