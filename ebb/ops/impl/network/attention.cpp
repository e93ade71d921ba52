// ebb/ops/impl/network/attention.cpp -- the fused attention ops: checks, dense rows, half types.
//
// Kernels read views whose last dim is dense, such as heads cut out of a projection, without a
// copy. Half types are summed in float32, in which logsumexp is.
#include "ebb/ops/impl/network/attention.h"

#include "ebb/kernels/tables/attention.h"
#include "ebb/kernels/tables/attention_backward.h"
#include "ebb/kernels/tables/attention_dropout.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

using kernels::AttentionOptions;
using kernels::TensorView;

DType compute_dtype(const Tensor& tensor) {
  return is_half(tensor.dtype()) ? DType::float32 : tensor.dtype();
}

/// `tensor` with the elements of its last dim side by side and its rows one behind the other.
Tensor with_dense_rows(const Tensor& tensor) {
  const IntSpan sizes = tensor.sizes(), strides = tensor.strides();
  const bool is_dense = (sizes[3] == 1 || strides[3] == 1) &&
                        (sizes[2] == 1 || strides[2] >= std::max<int64_t>(1, sizes[3]));
  return is_dense ? tensor : contiguous(tensor);
}

void check_shape(const char* op, const char* name, const Tensor& tensor, const Shape& shape) {
  if (equal(tensor.sizes(), shape)) return;
  throw ShapeError(str(op, ": ", name, " needs shape ", shape, ", got ", infer::describe(tensor)));
}

/// Sizes and options of a call, checked.
struct Call {
  const char* op;
  int64_t batch, heads, rows, columns, features, value_features;
  DType dtype, compute;
  Tensor mask;        // as kernels read it, or undefined
  Geometry geometry;  // of the mask, expanded
  TensorView mask_view;
  AttentionOptions options;

  Call(const char* op, const Tensor& query, const Tensor& key, const Tensor& value,
       const Tensor& attn_mask, const AttentionOptions& given)
      : op(op),
        batch(query.size(0)),
        heads(query.size(1)),
        rows(query.size(2)),
        columns(key.size(2)),
        features(query.size(3)),
        value_features(value.size(3)),
        dtype(query.dtype()),
        compute(compute_dtype(query)),
        options(given) {
    const int64_t key_heads = key.size(1);
    if (key_heads == 0 ? heads != 0 : heads % key_heads != 0) {
      throw ShapeError(str(op, ": the heads of key must divide those of query, got ",
                           infer::describe(query), " and ", infer::describe(key)));
    }
    check_shape(op, "key", key, Shape{batch, key_heads, columns, features});
    check_shape(op, "value", value, Shape{batch, key_heads, columns, value_features});
    if (features == 0) {
      throw ShapeError(str(op, ": query needs at least one feature, got ", infer::describe(query)));
    }
    if (!(options.dropout >= 0 && options.dropout <= 1)) {
      throw ValueError(
          str(op, ": dropout_p needs a probability from 0 to 1, got ", options.dropout));
    }
    if (attn_mask.defined()) expand_mask(attn_mask);
  }
  Call(const Call&) = delete;  // the options point into it
  Call& operator=(const Call&) = delete;

  bool is_empty() const { return batch * heads * rows * value_features == 0; }
  bool sees_nothing() const { return columns == 0; }

 private:
  void expand_mask(const Tensor& given) {
    const bool fits = given.ndim() == 4 && can_expand(given);
    if (!fits) {
      throw ShapeError(str(op, ": attn_mask must broadcast to ", Shape{batch, heads, rows, columns},
                           ", got ", infer::describe(given)));
    }
    if (given.dtype() != DType::boolean && given.dtype() != dtype) {
      throw DTypeError(
          str(op, ": attn_mask needs bool or the dtype of query, got ", infer::describe(given)));
    }
    mask = given;
    const int64_t sizes[] = {batch, heads, rows, columns};
    for (int dim = 0; dim < 4; ++dim) {
      const bool is_single = mask.sizes()[static_cast<size_t>(dim)] == 1;
      geometry.append(sizes[dim], is_single ? 0 : mask.strides()[static_cast<size_t>(dim)]);
    }
    mask_view = geometry.over(mask);
    options.mask = &mask_view;
  }
  bool can_expand(const Tensor& given) const {
    const int64_t sizes[] = {batch, heads, rows, columns};
    for (size_t dim = 0; dim < 4; ++dim) {
      if (given.sizes()[dim] != 1 && given.sizes()[dim] != sizes[dim]) return false;
    }
    return true;
  }
};

AttentionOptions options_of(double dropout_p, bool is_causal, double scale, int64_t seed,
                            int64_t offset) {
  return {scale,
          is_causal,
          dropout_p,
          {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)},
          nullptr};
}

/// A new [B, H, L, V] tensor with heads inside rows if `like` has them so, as projections do.
Tensor empty_in_order(const Call& call, const Tensor& like) {
  const bool heads_inside = like.strides()[1] < like.strides()[2];
  if (!heads_inside) {
    return ebb::empty(Shape{call.batch, call.heads, call.rows, call.value_features}, call.dtype,
                      like.device());
  }
  const Tensor turned = ebb::empty(Shape{call.batch, call.rows, call.heads, call.value_features},
                                   call.dtype, like.device());
  const int64_t sizes[] = {call.batch, call.heads, call.rows, call.value_features};
  const IntSpan strides = turned.strides();
  const int64_t swapped[] = {strides[0], strides[2], strides[1], strides[3]};
  return make_alias(turned, sizes, swapped, 0);
}

}  // namespace

std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& attn_mask, double dropout_p, bool is_causal,
                                     double scale, int64_t seed, int64_t offset) {
  constexpr const char* op = "attention";
  const Call call(op, query, key, value, attn_mask,
                  options_of(dropout_p, is_causal, scale, seed, offset));
  const auto kernel = kernel_for(op, kernels::attention_kernels, query, call.dtype);
  const Shape rows{call.batch, call.heads, call.rows};
  if (call.is_empty() || call.sees_nothing()) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {zeros(Shape{call.batch, call.heads, call.rows, call.value_features}, call.dtype,
                  query.device()),
            full(rows, infinity, call.compute, query.device())};
  }
  const Tensor q = with_dense_rows(query), k = with_dense_rows(key), v = with_dense_rows(value);
  const Tensor out = empty_in_order(call, query);
  const Tensor logsumexp = ebb::empty(rows, call.compute, query.device());
  kernel(context_of(query), view_of(q), view_of(k), view_of(v), call.options, view_of(out),
         view_of(logsumexp));
  return {out, logsumexp};
}

std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& query, const Tensor& key,
                                                      const Tensor& value, const Tensor& attn_mask,
                                                      const Tensor& out, const Tensor& logsumexp,
                                                      const Tensor& grad, double dropout_p,
                                                      bool is_causal, double scale, int64_t seed,
                                                      int64_t offset) {
  constexpr const char* op = "attention_backward";
  const Call call(op, query, key, value, attn_mask,
                  options_of(dropout_p, is_causal, scale, seed, offset));
  const Shape results{call.batch, call.heads, call.rows, call.value_features};
  check_shape(op, "out", out, results);
  check_shape(op, "grad", grad, results);
  check_shape(op, "logsumexp", logsumexp, Shape{call.batch, call.heads, call.rows});
  const auto kernel = kernel_for(op, kernels::attention_backward_kernels, query, call.dtype);
  if (call.is_empty() || call.sees_nothing()) {
    return {zeros_like(query, {}), zeros_like(key, {}), zeros_like(value, {})};
  }
  const Tensor q = with_dense_rows(query), k = with_dense_rows(key), v = with_dense_rows(value);
  const Tensor o = with_dense_rows(as_dtype(out, call.dtype));
  const Tensor g = with_dense_rows(as_dtype(grad, call.dtype));
  const Tensor lse = contiguous(as_dtype(logsumexp, call.compute));
  const Tensor grad_q = ebb::empty(query.sizes(), call.dtype, query.device());
  const Tensor grad_k = ebb::empty(key.sizes(), call.dtype, query.device());
  const Tensor grad_v = ebb::empty(value.sizes(), call.dtype, query.device());
  const kernels::AttentionSaved saved{view_of(q), view_of(k),   view_of(v),
                                      view_of(o), view_of(lse), view_of(g)};
  kernel(context_of(query), saved, call.options, view_of(grad_q), view_of(grad_k), view_of(grad_v));
  return {grad_q, grad_k, grad_v};
}

Tensor attention_dropout(const Tensor& query, int64_t columns, double dropout_p, int64_t seed,
                         int64_t offset) {
  constexpr const char* op = "attention_dropout";
  if (columns < 0 || !(dropout_p >= 0 && dropout_p <= 1)) {
    throw ValueError(str(op, ": needs columns >= 0 and a probability from 0 to 1, got ", columns,
                         " and ", dropout_p));
  }
  const DType compute = compute_dtype(query);
  const auto kernel = kernel_for(op, kernels::attention_dropout_kernels, query, compute);
  const Tensor out = ebb::empty(Shape{query.size(0), query.size(1), query.size(2), columns},
                                compute, query.device());
  if (out.numel() > 0) {
    kernel(context_of(query), options_of(dropout_p, false, 1.0, seed, offset), view_of(out));
  }
  return as_dtype(out, query.dtype());
}

}  // namespace ebb::ops::impl
