// ebb/autograd/rules/rules.h -- gradient rules that are too long for a line of the op table.
//
// Each is called from the generated apply() of a node and is made of recorded ops only, so that it
// can be differentiated again. Broadcasts, casts and complex parts are undone by the engine, never
// here. `grad` is the gradient that arrives; in forward rules `tangent` is the one that goes along.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ebb/autograd/rules/loss_pointwise.h"
#include "ebb/autograd/rules/norm.h"
#include "ebb/autograd/rules/pointwise_rules.h"
#include "ebb/autograd/rules/reduce_rules.h"
#include "ebb/autograd/rules/sparse.h"
#include "ebb/autograd/rules/strided.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// Shapes (shape.cpp).
Tensor permute_grad(const Tensor& grad, IntSpan dims);
/// `grad` with sizes of 1 in front if `shape` has more dims: what a written value may have had.
Tensor with_leading_ones(const Tensor& grad, IntSpan shape);
/// A written value in the shape that it was written to.
Tensor broadcast_source(const Tensor& value, IntSpan shape);
/// Start, step and size of a box in one row, which a node keeps in one piece.
struct PackedBox {
  int64_t values[3 * kMaxDims];
  size_t count = 0;

  operator IntSpan() const { return {values, count}; }  // NOLINT: it is its values
};
PackedBox packed_box(IntSpan start, IntSpan step, IntSpan size);
Tensor index_box_grad(const Tensor& grad, IntSpan shape, IntSpan box);
Tensor index_box_put_grad_self(const Tensor& grad, IntSpan start, IntSpan step, IntSpan size,
                               IntSpan shape);
/// Where each tensor ends along `dim` once they are joined.
std::vector<int64_t> ends_along(std::span<const Tensor> tensors, int64_t dim);
/// The part of `grad` that belongs to the tensor at `position` of those that were joined.
Tensor cat_grad(const Tensor& grad, size_t position, IntSpan ends, int64_t dim);

/// Each number with the other sign (arrange.cpp).
std::vector<int64_t> negated(IntSpan values);

// Products (matmul.cpp). Ranks say which operand was a vector.
Tensor matmul_grad_input(const Tensor& grad, const Tensor& other);
Tensor matmul_grad_other(const Tensor& grad, const Tensor& input, IntSpan other_shape);
Tensor linear_grad_weight(const Tensor& grad, const Tensor& input);

// Indices (index.cpp).
Tensor gather_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index);
Tensor scatter_add_grad_src(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntSpan src_shape);
Tensor index_select_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index);
Tensor index_add_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Scalar& alpha, IntSpan source_shape);
/// Of equal places only the last one written stays, and so only its source gets a gradient.
Tensor scatter_grad_src(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan src_shape);
Tensor index_copy_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                              IntSpan source_shape);
Tensor index_put_grad_self(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate);
Tensor index_put_grad_value(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate,
                            IntSpan value_shape);
Tensor embedding_backward_grad(const Tensor& grad, const Tensor& indices, int64_t padding_idx);

// Attention (attention.cpp). `operands`: query, key, value, mask, and for second gradients the
// gradient of the result, in front of which the gradients are returned in the same order.
struct AttentionArguments {
  double dropout_p;
  bool is_causal;
  double scale;
  int64_t seed, offset;
};
std::vector<Tensor> attention_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands,
                                           const AttentionArguments& arguments);
Tensor attention_tangent(const std::vector<Tensor>& tangents, const std::vector<Tensor>& operands,
                         const AttentionArguments& arguments);
std::vector<Tensor> attention_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands,
                                            const AttentionArguments& arguments);

// Recurrent layers (recurrent.cpp). `operands`: the inputs of the scan, then the gradients of its
// results; `grads`: the gradients that arrive. Gives one gradient per operand.
std::vector<Tensor> lstm_scan_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool is_relu,
                                          bool reverse);
/// The tangents of the results, from those of the inputs of the scan.
std::vector<Tensor> lstm_scan_tangents(const std::vector<Tensor>& tangents,
                                       const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool is_relu,
                                      bool reverse);
/// The tangents of the gradients, from those of the operands.
std::vector<Tensor> lstm_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool is_relu,
                                           bool reverse);

// Losses (loss.cpp).
/// The gradient of softmax_backward(grad, out, dim) with respect to `out`, and its tangent.
Tensor softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                 int64_t dim);
Tensor softmax_backward_out_jvp(const Tensor& tangent, const Tensor& grad, const Tensor& out,
                                int64_t dim);
/// tangent - sum(exp(out) * tangent along dim): the tangent of log_softmax, and also the gradient
/// of log_softmax_backward with respect to its first operand.
Tensor log_softmax_jvp(const Tensor& tangent, const Tensor& out, int64_t dim);
/// The gradient of log_softmax_backward(grad, out, dim) with respect to `out`.
Tensor log_softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                     int64_t dim);

// Convolutions (composite_conv.cpp).
/// The sum over all dims but the channels.
Tensor convolution_grad_bias(const Tensor& grad);
Tensor convolution_jvp_bias(const Tensor& tangent, IntSpan shape);

// Pooling (composite_pool.cpp). `window` has one number per pooled dim.
Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, IntSpan window);
Tensor max_pool_jvp(const Tensor& tangent, const Tensor& indices, IntSpan window);
/// The elements of `input` at `indices` into its last dims, flattened.
Tensor max_pool_gather(const Tensor& input, const Tensor& indices, int64_t pooled_dims);

}  // namespace ebb::autograd::rules
