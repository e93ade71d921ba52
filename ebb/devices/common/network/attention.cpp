// ebb/devices/common/network/attention.cpp -- attention, a block of scores at a time.
//
// A block has all batch entries and heads if their scores take kMostBytes at most, else one batch
// entry, one head, or some rows of one head: memory grows with the length, not its square. Scores
// are one product, kernels/network/attention.k makes weights of them, and further products follow.
// The gradients of keys and values add up over the heads that share them, and over blocks; half
// types are rounded after each block. A library of the device may take the forward pass as a whole;
// what the gradients need of it is the same. Start reading at for_each_block().
#include "ebb/devices/common/network/attention.h"

#include <algorithm>
#include <limits>

#include "ebb/core/base/str.h"
#include "ebb/devices/common/base/elementwise.h"
#include "ebb/devices/common/gemm/gemm.h"
#include "ebb/devices/launch/attention.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::AttentionOptions;
using kernels::AttentionSaved;
using kernels::Context;
using kernels::TensorView;

namespace {

constexpr int64_t kMostBytes = int64_t{32} << 20;  // of the scores of a block

constexpr DType wide_of(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

struct Problem {
  const char* op;
  Context context;
  const AttentionOptions& options;
  DType dtype;
  int64_t batch, heads, key_heads, rows, columns, features, value_features;

  Problem(const char* op, const Context& context, const AttentionOptions& options,
          const TensorView& query, const TensorView& key, const TensorView& value)
      : op(op),
        context(context),
        options(options),
        dtype(query.dtype),
        batch(query.sizes[0]),
        heads(query.sizes[1]),
        key_heads(key.sizes[1]),
        rows(query.sizes[2]),
        columns(key.sizes[2]),
        features(query.sizes[3]),
        value_features(value.sizes[3]) {}

  DType wide() const { return wide_of(dtype); }
  int64_t group() const { return heads / key_heads; }
};

/// Some batch entries, some or all heads, and some rows. With one head `heads` is 1.
struct Block {
  int64_t batch, batches, head, heads, row, rows;
};

/// The sizes of the largest block.
Block largest_block(const Problem& problem) {
  const auto item = static_cast<int64_t>(item_size(problem.wide()));
  const int64_t most = std::max<int64_t>(1, kMostBytes / (item * problem.columns));  // rows
  Block block{0, problem.batch, 0, problem.heads, 0, problem.rows};
  if (problem.batch * problem.heads * problem.rows > most) block.batches = 1;
  if (block.batches * problem.heads * problem.rows > most) block.heads = 1;
  if (block.batches * block.heads * problem.rows > most) block.rows = most;
  return block;
}

/// Calls body(block) for all blocks, those of one head of keys one after the other.
template <class Body>
void for_each_block(const Problem& problem, const Block& largest, const Body& body) {
  for (int64_t batch = 0; batch < problem.batch; batch += largest.batches) {
    for (int64_t head = 0; head < problem.heads; head += largest.heads) {
      for (int64_t row = 0; row < problem.rows; row += largest.rows) {
        body(Block{batch, largest.batches, head, largest.heads, row,
                   std::min(largest.rows, problem.rows - row)});
      }
    }
  }
}

/// Strides of a [B, H, L, E] tensor; those of a dim of size 1 are 0.
struct Strides {
  explicit Strides(const TensorView& view) {
    for (int dim = 0; dim < 3; ++dim) at[dim] = view.sizes[dim] == 1 ? 0 : view.strides[dim];
  }
  int64_t at[3];
};

void* address(const TensorView& view, int64_t batch, int64_t head, int64_t row) {
  const Strides strides(view);
  const int64_t offset = batch * strides.at[0] + head * strides.at[1] + row * strides.at[2];
  return static_cast<char*>(view.data) + offset * static_cast<int64_t>(item_size(view.dtype));
}

/// The batch of a product: batch entries, heads of keys, and heads that share one.
class Batch {
 public:
  Batch(const Problem& problem, const Block& block, Gemm& gemm) : problem_(problem), block_(block) {
    const bool is_single = block.heads == 1;
    gemm.batch =
        Shape{block.batches, is_single ? 1 : problem.key_heads, is_single ? 1 : problem.group()};
  }
  /// Of a tensor with a head for each of the queries', rows of the block alone.
  Shape of_queries(const TensorView& view) const {
    const Strides strides(view);
    return {strides.at[0], problem_.group() * strides.at[1], strides.at[1]};
  }
  Shape of_keys(const TensorView& view) const {
    const Strides strides(view);
    return {strides.at[0], strides.at[1], 0};
  }
  /// Of the block's scores.
  Shape of_scores() const {
    const int64_t head = block_.rows * problem_.columns;
    return {block_.heads * head, problem_.group() * head, head};
  }

 private:
  const Problem& problem_;
  const Block& block_;
};

int64_t row_stride(const TensorView& view) { return view.sizes[2] == 1 ? 0 : view.strides[2]; }

/// scores = left rows times right rows^T: queries and keys, or gradients and values.
void multiply_rows(const Problem& problem, const Block& block, const TensorView& left,
                   const TensorView& right, void* scores) {
  Gemm gemm{.op = problem.op,
            .m = block.rows,
            .n = problem.columns,
            .k = left.sizes[3],
            .out = scores,
            .out_dtype = problem.wide(),
            .out_row = problem.columns};
  gemm.a = {address(left, block.batch, block.head, block.row), left.dtype, row_stride(left), 1};
  gemm.b = {address(right, block.batch, block.head / problem.group(), 0), right.dtype, 1,
            row_stride(right)};
  const Batch batch(problem, block, gemm);
  gemm.strides[0] = batch.of_scores();
  gemm.strides[1] = batch.of_queries(left);
  gemm.strides[2] = batch.of_keys(right);
  run_gemm(gemm, problem.context);
}

/// out rows = weights times right rows: values, or keys.
void multiply_weights(const Problem& problem, const Block& block, void* weights,
                      const TensorView& right, const TensorView& out) {
  Gemm gemm{.op = problem.op,
            .m = block.rows,
            .n = right.sizes[3],
            .k = problem.columns,
            .out = address(out, block.batch, block.head, block.row),
            .out_dtype = out.dtype,
            .out_row = out.sizes[2] == 1 ? right.sizes[3] : out.strides[2]};
  gemm.a = {weights, problem.wide(), problem.columns, 1};
  gemm.b = {address(right, block.batch, block.head / problem.group(), 0), right.dtype,
            row_stride(right), 1};
  const Batch batch(problem, block, gemm);
  gemm.strides[0] = batch.of_queries(out);
  gemm.strides[1] = batch.of_scores();
  gemm.strides[2] = batch.of_keys(right);
  run_gemm(gemm, problem.context);
}

/// grad [B, K, S, E] (+)= weights^T times right rows, over the heads that share keys.
void multiply_turned(const Problem& problem, const Block& block, void* weights,
                     const TensorView& right, const TensorView& grad) {
  const bool is_single = block.heads == 1;
  const int64_t key_head = block.head / problem.group();
  const int64_t head_size = block.rows * problem.columns;
  Gemm gemm{.op = problem.op,
            .m = problem.columns,
            .n = right.sizes[3],
            .k = block.rows,
            .pairs = is_single ? 1 : problem.group(),
            .out = address(grad, block.batch, key_head, 0),
            .out_dtype = grad.dtype,
            .out_row = right.sizes[3],
            .accumulate = block.row > 0 || block.head != key_head * problem.group()};
  gemm.a = {weights, problem.wide(), 1, problem.columns, head_size};
  gemm.b = {address(right, block.batch, block.head, block.row), right.dtype, row_stride(right), 1,
            Strides(right).at[1]};
  gemm.batch = Shape{block.batches, is_single ? 1 : problem.key_heads};
  const Strides to(grad), from(right);
  gemm.strides[0] = {to.at[0], to.at[1]};
  gemm.strides[1] = {block.heads * head_size, problem.group() * head_size};
  gemm.strides[2] = {from.at[0], problem.group() * from.at[1]};
  run_gemm(gemm, problem.context);
}

enum class Step : uint8_t { forward, backward, dropout };

/// The numbers of dropout, as the kernels take them.
struct Dropout {
  uint64_t seed, offset, threshold;
  Number grown, scale;

  Dropout(const AttentionOptions& options, Compute compute)
      : seed(options.state.seed),
        offset(options.state.offset),
        // A word below the threshold drops; all do if the probability is 1.
        threshold(static_cast<uint64_t>(options.dropout * 4294967296.0)),
        grown(number_of(options.dropout < 1 ? 1 / (1 - options.dropout) : 0.0, compute)),
        scale(number_of(options.scale, compute)) {}
};

int mask_kind(const AttentionOptions& options) {
  if (options.mask == nullptr) return 0;
  return options.mask->dtype == DType::boolean ? 1 : 2;
}

Kernel& kernel_for(const char* op, const Context& context, Step step, DType dtype,
                   const AttentionOptions& options, bool as_int32, uint32_t group_size) {
  const int mask = step == Step::dropout ? 0 : mask_kind(options);
  const bool is_causal = step != Step::dropout && options.is_causal;
  const bool has_dropout = options.dropout > 0;
  SpecKey key(Family::attention, context.device.index);
  key.put(static_cast<uint64_t>(step), 2).put(static_cast<uint64_t>(dtype), 4);
  key.put(static_cast<uint64_t>(mask), 2).put(is_causal, 1).put(has_dropout, 1).put(as_int32, 1);
  return kernel_of(key, op, context.device.index, [&] {
    const std::string entry = str("ebb_", op);
    std::string source = compute_defines(compute_of(dtype), static_cast<int>(group_size));
    source += define("NAME", entry) + define("INDEX", as_int32 ? "i32" : "i64");
    source += define("S", text_of(dtype)) + define("STEP", str(static_cast<int>(step)));
    source += define("MASK", str(mask)) + define("CAUSAL", is_causal ? "1" : "0");
    source += define("DROPOUT", has_dropout ? "1" : "0");
    source += elements_k;
    source += philox_k;
    source += attention_k;
    return Recipe{entry, source};
  });
}

constexpr uint32_t group_size_on(const Traits& traits) { return traits.is_cpu ? 1 : 64; }

/// What the rows of a block are between the products.
struct RowStep {
  Step step;
  void* scores;
  void* grads;  // backward
  const TensorView* logsumexp;
  const TensorView* out;       // backward
  const TensorView* grad_out;  // backward
};

int64_t reach_of(const TensorView& view) {
  int64_t sum = 0;
  for (int dim = 0; dim < view.ndim; ++dim) {
    sum += (view.sizes[dim] - 1) * std::abs(view.strides[dim]);
  }
  return sum;
}

/// The struct Rows of the kernel, and whether int32 holds all places.
size_t pack_rows(const Problem& problem, const Block& block, const RowStep& work, bool& as_int32,
                 std::span<char> bytes) {
  const int64_t count = block.batches * block.heads * block.rows;
  int64_t reach = std::max(count * problem.columns, problem.batch * problem.heads * problem.rows);
  int64_t mask[4] = {}, out[3] = {}, grad_out[3] = {};
  if (const TensorView* view = problem.options.mask) {
    std::copy_n(view->strides, 4, mask);
    reach = std::max(reach, reach_of(*view));
  }
  if (work.step == Step::backward) {
    std::copy_n(Strides(*work.out).at, 3, out);
    std::copy_n(Strides(*work.grad_out).at, 3, grad_out);
    reach = std::max({reach, reach_of(*work.out), reach_of(*work.grad_out)});
  }
  as_int32 = reach < int64_t{1} << 30;
  const int64_t values[] = {
      count,      block.rows, problem.columns, problem.heads, block.batch,
      block.head, block.row,  block.heads,     problem.rows,  problem.value_features,
      mask[0],    mask[1],    mask[2],         mask[3],       out[0],
      out[1],     out[2],     grad_out[0],     grad_out[1],   grad_out[2]};
  return pack_integers(values, as_int32, bytes);
}

void launch_rows(const Problem& problem, const Block& block, const RowStep& work) {
  const Traits& traits = driver().traits(problem.context.device.index);
  const uint32_t group_size = group_size_on(traits);
  const Compute compute = compute_of(problem.dtype);
  const Dropout dropout(problem.options, compute);
  bool as_int32 = true;
  char rows[32 * sizeof(int64_t)];
  const size_t rows_bytes = pack_rows(problem, block, work, as_int32, rows);
  Argument arguments[12];
  size_t used = 0;
  const auto add = [&](const void* data, size_t bytes) { arguments[used++] = {data, bytes}; };
  add(work.scores, 0);
  if (work.step == Step::backward) add(work.grads, 0);
  add(work.logsumexp->data, 0);
  if (work.step == Step::backward) {
    add(work.out->data, 0);
    add(work.grad_out->data, 0);
  }
  if (problem.options.mask != nullptr) add(problem.options.mask->data, 0);
  add(rows, rows_bytes);
  add(dropout.scale.bytes, item_size(compute));
  for (const uint64_t* number : {&dropout.seed, &dropout.offset, &dropout.threshold}) {
    add(number, sizeof *number);
  }
  add(dropout.grown.bytes, item_size(compute));
  Kernel& kernel = kernel_for(problem.op, problem.context, work.step, problem.dtype,
                              problem.options, as_int32, group_size);
  const int64_t count = block.batches * block.heads * block.rows;
  driver().launch(problem.context, problem.op, kernel,
                  {(count + group_size - 1) / group_size, group_size}, {arguments, used});
}

size_t scores_bytes(const Problem& problem, const Block& block) {
  return static_cast<size_t>(block.batches * block.heads * block.rows * problem.columns) *
         item_size(problem.wide());
}

AttentionSide side_of(const TensorView& view) {
  AttentionSide side;
  side.data = view.data;
  std::copy_n(view.sizes, 4, side.sizes.begin());
  std::copy_n(view.strides, 4, side.strides.begin());
  return side;
}

/// Whether a library of the device has queued the forward pass.
bool run_by_library(const Problem& problem, const TensorView& query, const TensorView& key,
                    const TensorView& value, const TensorView& out, const TensorView& logsumexp) {
  const AttentionOptions& options = problem.options;
  if (options.mask != nullptr || options.dropout > 0) return false;
  const Attention attention{problem.dtype, options.scale,  options.is_causal, side_of(query),
                            side_of(key),  side_of(value), side_of(out),      logsumexp.data};
  return driver().attend(problem.context, problem.op, attention);
}

}  // namespace

void run_attention(const Context& context, const TensorView& query, const TensorView& key,
                   const TensorView& value, const AttentionOptions& options, const TensorView& out,
                   const TensorView& logsumexp) {
  const Problem problem("attention", context, options, query, key, value);
  if (run_by_library(problem, query, key, value, out, logsumexp)) return;
  const Block largest = largest_block(problem);
  const Scratch scores(context, scores_bytes(problem, largest));
  for_each_block(problem, largest, [&](const Block& block) {
    multiply_rows(problem, block, query, key, scores.data());
    launch_rows(problem, block,
                {Step::forward, scores.data(), nullptr, &logsumexp, nullptr, nullptr});
    multiply_weights(problem, block, scores.data(), value, out);
  });
}

void run_attention_backward(const Context& context, const AttentionSaved& saved,
                            const AttentionOptions& options, const TensorView& grad_query,
                            const TensorView& grad_key, const TensorView& grad_value) {
  const Problem problem("attention_backward", context, options, saved.query, saved.key,
                        saved.value);
  const Block largest = largest_block(problem);
  const Scratch weights(context, scores_bytes(problem, largest));
  const Scratch grads(context, scores_bytes(problem, largest));
  for_each_block(problem, largest, [&](const Block& block) {
    multiply_rows(problem, block, saved.query, saved.key, weights.data());
    multiply_rows(problem, block, saved.grad_out, saved.value, grads.data());
    launch_rows(problem, block,
                {Step::backward, weights.data(), grads.data(), &saved.logsumexp, &saved.out,
                 &saved.grad_out});
    multiply_turned(problem, block, weights.data(), saved.grad_out, grad_value);
    multiply_turned(problem, block, grads.data(), saved.query, grad_key);
    multiply_weights(problem, block, grads.data(), saved.key, grad_query);
  });
}

void run_attention_dropout(const Context& context, const AttentionOptions& options,
                           const TensorView& out) {
  const Traits& traits = driver().traits(context.device.index);
  const uint32_t group_size = group_size_on(traits);
  const Compute compute = compute_of(out.dtype);
  const Dropout dropout(options, compute);
  const int64_t columns = out.sizes[3], count = out.numel / columns;
  const bool as_int32 = out.numel < int64_t{1} << 30;
  char numbers[2 * sizeof(int64_t)];
  const size_t bytes = pack_integers({{count, columns}}, as_int32, numbers) / 2;
  const Argument arguments[] = {{out.data, 0},
                                {numbers, bytes},
                                {numbers + bytes, bytes},
                                {&dropout.seed, sizeof dropout.seed},
                                {&dropout.offset, sizeof dropout.offset},
                                {&dropout.threshold, sizeof dropout.threshold},
                                {dropout.grown.bytes, item_size(compute)}};
  Kernel& kernel = kernel_for("attention_dropout", context, Step::dropout, out.dtype, options,
                              as_int32, group_size);
  driver().launch(context, "attention_dropout", kernel,
                  {(count + group_size - 1) / group_size, group_size}, arguments);
}

}  // namespace ebb::devices
