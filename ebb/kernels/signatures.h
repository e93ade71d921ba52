// ebb/kernels/signatures.h -- the function types of kernels: the kernel ABI.
//
// A new family has a header of its own, signatures_<family>.h, which this one need not include: a
// kernel's table includes the header that spells its type, so a new type makes few objects stale.
//
// Kernels are called with checked arguments only: shapes, dtypes and index ranges have been
// verified and outputs allocated with their final shape before. Outputs never overlap inputs
// partly; where a comment says so, `out` may be the very memory of an input (same data, sizes and
// strides).
#pragma once

#include <cstdint>
#include <span>

#include "ebb/core/base/random.h"
#include "ebb/core/base/scalar.h"
#include "ebb/kernels/signatures_attention.h"
#include "ebb/kernels/signatures_conv.h"
#include "ebb/kernels/signatures_loss.h"
#include "ebb/kernels/signatures_norm.h"
#include "ebb/kernels/signatures_recurrent.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

enum class Reduction : uint8_t { none, mean, sum };

/// out[i] = f(input[i]); same sizes, any strides. `out` may be `input`.
using UnaryKernel = void (*)(const Context&, const TensorView& input, const TensorView& out);

/// out = f(input, other): both broadcast to out's sizes; equal dtypes (that of the key).
/// `out` may be `input` or `other`.
using BinaryKernel = void (*)(const Context&, const TensorView& input, const TensorView& other,
                              const TensorView& out);

/// out = f(first, second, third): all broadcast to out's sizes; equal dtypes (that of the key).
/// `out` may be any of them.
using TernaryKernel = void (*)(const Context&, const TensorView& first, const TensorView& second,
                               const TensorView& third, const TensorView& out);

/// out = condition ? input : other; the condition is bool, the key's dtype that of the others.
using WhereKernel = TernaryKernel;

/// out = input converted to out's dtype; input broadcasts to out's sizes; key dtype: the input's.
using CastKernel = void (*)(const Context&, const TensorView& input, const TensorView& out);

/// Every element of out = value (converted by the kernel to out's dtype).
using FillKernel = void (*)(const Context&, const Scalar& value, const TensorView& out);

/// out[i] = start + i * step, contiguous.
using ArangeKernel = void (*)(const Context&, const Scalar& start, const Scalar& step,
                              const TensorView& out);

/// `out.numel` numbers from `start` to `end`, both included, evenly spaced; contiguous.
using LinspaceKernel = void (*)(const Context&, const Scalar& start, const Scalar& end,
                                const TensorView& out);

/// out = the matrices of input with zeros above (or, if `is_upper`, below) the diagonal that begins
/// `diagonal` columns to the right; both contiguous, ndim >= 2.
using TriangleKernel = void (*)(const Context&, const TensorView& input, int64_t diagonal,
                                bool is_upper, const TensorView& out);

/// Fills a contiguous out from the random sequence: element i depends on (state, i) alone.
/// randn: `first` = mean, `second` = standard deviation; rand: low, high.
using RandomKernel = void (*)(const Context&, const RandomState& state, double first, double second,
                              const TensorView& out);

/// Integers from low, below low + range (range 0: 2^64), converted; contiguous out.
using RandintKernel = void (*)(const Context&, const RandomState& state, int64_t low,
                               uint64_t range, const TensorView& out);

/// The numbers 0, 1, ... in random order; contiguous int64 out.
using RandpermKernel = void (*)(const Context&, const RandomState& state, const TensorView& out);

/// Rows of categories, drawn by weight: weights [rows, n] float64, not negative, with a finite sum
/// above 0, out [rows, draws] int64; all contiguous. Without replacement n >= draws.
using MultinomialKernel = void (*)(const Context&, const RandomState& state,
                                   const TensorView& weights, bool replacement,
                                   const TensorView& out);

/// mask[i] = whether element i is kept, which has the probability 1 - p, 0 <= p < 1;
/// out = mask ? input / (1 - p) : 0. All contiguous; mask is bool.
using DropoutKernel = void (*)(const Context&, const TensorView& input, const RandomState& state,
                               double p, const TensorView& out, const TensorView& mask);

/// out = mask ? input * scale : 0. All contiguous, of one shape; mask is bool.
using MaskedScaleKernel = void (*)(const Context&, const TensorView& input, const TensorView& mask,
                                   double scale, const TensorView& out);

/// Reduces input over each dim where out (which has input's ndim) has size 1 and input may not.
/// Sums of nothing are 0. Half types accumulate in float32. Key dtype: the input's = out's.
using ReduceKernel = void (*)(const Context&, const TensorView& input, const TensorView& out);

/// Variance (or standard deviation) over dims as for ReduceKernel, with a divisor of the count less
/// `correction`, but at least 0; of nothing it is NaN.
using VarKernel = void (*)(const Context&, const TensorView& input, double correction,
                           const TensorView& out);

/// The p-norm over dims as for ReduceKernel, for any real or infinite p.
using NormKernel = void (*)(const Context&, const TensorView& input, double p,
                            const TensorView& out);

/// Largest (smallest) element along `dim` and its first index; NaN wins. out and indices have
/// input's ndim with size 1 at dim; input has at least one element there; indices are int64.
using MaxDimKernel = void (*)(const Context&, const TensorView& input, int dim,
                              const TensorView& out, const TensorView& indices);

/// Sorts along `dim`, stable; NaN counts as largest. out (without data: not wanted) and indices
/// (int64) have input's ndim and, along dim, as many of the first elements in order as are wanted.
using SortKernel = void (*)(const Context&, const TensorView& input, int dim, bool descending,
                            const TensorView& out, const TensorView& indices);

/// The element that a sort would put at position `position` of each line, and its index; sizes as
/// for MaxDimKernel. With `nan_wins` a line's first NaN is its result.
using NthKernel = void (*)(const Context&, const TensorView& input, int dim, int64_t position,
                           bool nan_wins, const TensorView& out, const TensorView& indices);

/// out[i] = sum of input[0..i] along dim; `reversed`: of input[i..]. Same sizes, any strides.
using ScanKernel = void (*)(const Context&, const TensorView& input, int dim, bool reversed,
                            const TensorView& out);

/// Where each value would be inserted into its sorted line: the first position whose element is not
/// less (`right`: is greater). sorted [lines, n] contiguous; values [lines, m] contiguous, or
/// sorted [1, n] and values [1, m] for all; out int64 like values. Key dtype: that of both.
using SearchKernel = void (*)(const Context&, const TensorView& sorted, const TensorView& values,
                              bool right, const TensorView& out);

/// out = input @ other over the last two dims; leading dims broadcast to out's; ndim >= 2.
/// Operands may be any strided view: transposed ones are not copied.
using MatmulKernel = void (*)(const Context&, const TensorView& input, const TensorView& other,
                              const TensorView& out);

/// out[n, o] = sum_i input[n, i] * weight[o, i] + bias[o]; 2-d; bias may be null.
using LinearKernel = void (*)(const Context&, const TensorView& input, const TensorView& weight,
                              const TensorView* bias, const TensorView& out);

/// out = inputs joined along dim; each input and out have the same ndim.
using CatKernel = void (*)(const Context&, std::span<const TensorView> inputs, int dim,
                           const TensorView& out);

/// gather: out[i][j].. = input[.. index[i][j].. at dim ..]; index is int64, in range, out's sizes.
using GatherKernel = void (*)(const Context&, const TensorView& input, int dim,
                              const TensorView& index, const TensorView& out);

/// scatter_add: out[.. index at dim ..] += src, in order of the index; adds into out as given.
using ScatterAddKernel = void (*)(const Context&, const TensorView& index, const TensorView& src,
                                  int dim, const TensorView& out);

/// scatter: the same, but writes over; of equal places the last one in row-major order stays.
using ScatterKernel = ScatterAddKernel;

/// index_select: out = rows input[index[i]] along dim; index is 1-d int64, in range.
using IndexSelectKernel = GatherKernel;

/// index_add: out[index[i]] += alpha * src[i] along dim, duplicates in index order; index 1-d.
using IndexAddKernel = void (*)(const Context&, const TensorView& index, const TensorView& src,
                                int dim, const Scalar& alpha, const TensorView& out);

/// index_copy: out[index[i]] = src[i] along dim; of duplicates the last stays; index 1-d.
using IndexCopyKernel = void (*)(const Context&, const TensorView& index, const TensorView& src,
                                 int dim, const TensorView& out);

/// One more index of several: out = out * size + index, or out = index if `is_first`; a negative
/// index counts from the back. index broadcasts to out (contiguous int64). Returns the row-major
/// position in out of the first one that is not in [-size, size), or -1.
using CombineIndexKernel = int64_t (*)(const Context&, const TensorView& index, int64_t size,
                                       bool is_first, const TensorView& out);

/// Row-major places of the elements of `mask` (bool, contiguous) that are true. The first call,
/// with null `out`, returns how many there are; the second writes them to `out`, int64.
using FindTrueKernel = int64_t (*)(const Context&, const TensorView& mask, const TensorView* out);

/// out[i] = the index of each dim of a tensor with these sizes for the row-major place flat[i].
/// flat [n] and out [n, sizes.size()] are contiguous int64.
using UnravelKernel = void (*)(const Context&, const TensorView& flat,
                               std::span<const int64_t> sizes, const TensorView& out);

/// Position of the first element outside [low, high), or -1; index is int64 with any strides.
using FindOutOfRangeKernel = int64_t (*)(const Context&, const TensorView& index, int64_t low,
                                         int64_t high);

/// softmax(input), or its logarithm, along dim, any strides; out contiguous, same sizes.
using SoftmaxKernel = void (*)(const Context&, const TensorView& input, int dim,
                               const TensorView& out);

/// Gradient from the result. Of softmax: (grad_out - sum(grad_out * out along dim)) * out; of
/// log_softmax: grad_out - exp(out) * sum(grad_out along dim).
using SoftmaxBackwardKernel = void (*)(const Context&, const TensorView& grad_out,
                                       const TensorView& out, int dim,
                                       const TensorView& grad_input);

/// log(sum(exp(input))) along dim; out has input's ndim with size 1 at dim.
using LogSumExpKernel = void (*)(const Context&, const TensorView& input, int dim,
                                 const TensorView& out);

/// Negative log likelihood. input [N, C] log-probabilities; target [N] int64 in [0, C) or
/// ignore_index; weight [C] or null. out: [N] for none, 0-d else; total_weight (0-d): the divisor
/// of the mean. An ignored row gives 0 and weighs 0; the mean of nothing is NaN.
using NllLossKernel = void (*)(const Context&, const TensorView& input, const TensorView& target,
                               const TensorView* weight, int64_t ignore_index, Reduction reduction,
                               const TensorView& out, const TensorView& total_weight);

/// Writes all of grad_input [N, C]: -grad_out * weight[target] (/ total_weight for mean) at the
/// target, 0 elsewhere.
using NllLossBackwardKernel = void (*)(const Context&, const TensorView& grad_out,
                                       const TensorView& target, const TensorView* weight,
                                       int64_t ignore_index, Reduction reduction,
                                       const TensorView& total_weight,
                                       const TensorView& grad_input);

}  // namespace ebb::kernels
