// ebb/autograd/rules/network/attention.cpp -- scaled_dot_product_attention, and derivatives of the
// fused op.
//
// The composite brings its operands to [B, H, L, E] by views and calls the fused op. Where that
// does not do (gradients of gradients, a mask that wants a gradient), the same function stands in
// plain ops, which hold the whole matrix of weights.
#include "ebb/autograd/ops/attention.h"

#include <cmath>
#include <limits>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/attention_dropout.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scaled_dot_product_attention.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/network/attention.h"
#include "ebb/autograd/rules/network/recompute.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/random_part.h"

namespace ebb {
namespace autograd::rules {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Row i of L shows columns 0 to i of S.
Tensor causal_mask(int64_t rows, int64_t columns, Device device) {
  const auto count_to = [&](int64_t end) { return arange(end, DType::int64, device); };
  return less(unsqueeze(count_to(columns), 0), unsqueeze(add(count_to(rows), 1), 1));
}

/// Each head of key or value once per head of query that uses it.
Tensor repeat_heads(const Tensor& tensor, int64_t heads) {
  const int64_t own = tensor.size(1);
  if (own == heads) return tensor;
  const Shape spread{tensor.size(0), own, heads / own, tensor.size(2), tensor.size(3)};
  const Shape joined{tensor.size(0), heads, tensor.size(2), tensor.size(3)};
  return reshape(expand(unsqueeze(tensor, 2), spread), joined);
}

/// softmax along the last dim; a row of nothing but -inf gives zeros.
Tensor softmax_or_zeros(const Tensor& scores) {
  const int64_t last[] = {-1};
  Tensor top;
  {
    const NoGradGuard guard;
    top = std::get<0>(max(scores, -1, true));
    top = where(eq(top, Scalar(-kInfinity)), Scalar(0.0), top);
  }
  const Tensor exponentials = exp(sub(scores, top));
  const Tensor total = sum(exponentials, IntSpan(last), true);
  return div(exponentials, where(eq(total, Scalar(0.0)), Scalar(1.0), total));
}

/// What the fused op computes, in plain ops. in: query, key, value, mask.
Tensor explicit_attention(std::span<const Tensor> in, const AttentionArguments& arguments) {
  const DType dtype = in[0].dtype();
  const int64_t rows = in[0].size(2), columns = in[1].size(2), heads = in[0].size(1);
  const Tensor query = mul(widened(in[0]), arguments.scale);
  const Tensor key = repeat_heads(widened(in[1]), heads);
  const Tensor value = repeat_heads(widened(in[2]), heads);
  if (columns == 0) return cast(matmul(matmul(query, transpose(key, -1, -2)), value), dtype);
  Tensor scores = matmul(query, transpose(key, -1, -2));
  if (in[3].defined()) {
    scores = in[3].dtype() == DType::boolean ? where(in[3], scores, Scalar(-kInfinity))
                                             : add(scores, widened(in[3]));
  }
  if (arguments.is_causal) {
    scores = where(causal_mask(rows, columns, scores.device()), scores, Scalar(-kInfinity));
  }
  Tensor weights = softmax_or_zeros(scores);
  if (arguments.dropout_p > 0) {
    weights = mul(weights, attention_dropout(detach(query), columns, arguments.dropout_p,
                                             arguments.seed, arguments.offset));
  }
  const Tensor out = matmul(weights, value);
  return is_half(dtype) ? cast(out, dtype) : out;
}

}  // namespace

std::vector<Tensor> attention_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands,
                                           const AttentionArguments& arguments) {
  const auto composite = [=](std::span<const Tensor> in) {
    return std::vector<Tensor>{explicit_attention(in, arguments)};
  };
  const std::span<const Tensor> all(operands);
  return recomputed_second_grads(composite, all.first(4), all.subspan(4), grads);
}

Tensor attention_tangent(const std::vector<Tensor>& tangents, const std::vector<Tensor>& operands,
                         const AttentionArguments& arguments) {
  const auto composite = [=](std::span<const Tensor> in) {
    return std::vector<Tensor>{explicit_attention(in, arguments)};
  };
  return recomputed_tangents(composite, operands, tangents)[0];
}

std::vector<Tensor> attention_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands,
                                            const AttentionArguments& arguments) {
  const auto composite = [=](std::span<const Tensor> in) {
    return std::vector<Tensor>{explicit_attention(in, arguments)};
  };
  const std::span<const Tensor> all(operands);
  return recomputed_grad_tangents(composite, all.first(4), all.subspan(4), tangents, 3);
}

}  // namespace autograd::rules

namespace {

constexpr const char* kOp = "scaled_dot_product_attention";
using autograd::rules::AttentionArguments;
using ops::infer::describe;

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto check = [&](const char* name, const Tensor& tensor) {
    ops::infer::check_ndim(kOp, name, tensor, 2, kMaxDims - 1);
    ops::infer::check_same_dtype(kOp, "query", query, name, tensor);
    ops::infer::check_same_device(kOp, query, tensor);
  };
  ops::infer::check_defined(kOp, "query", query);
  if (!is_floating(query.dtype())) {
    throw DTypeError(str(kOp, ": needs a floating dtype, got query ", describe(query)));
  }
  check("query", query);
  check("key", key);
  check("value", value);
  if (query.size(-1) != key.size(-1)) {
    throw ShapeError(str(kOp, ": query and key need one last size, got ", describe(query), " and ",
                         describe(key)));
  }
  if (key.size(-2) != value.size(-2)) {
    throw ShapeError(
        str(kOp, ": key and value need one length, got ", describe(key), " and ", describe(value)));
  }
  if (query.size(-1) == 0) {
    throw ShapeError(str(kOp, ": query needs at least one feature, got ", describe(query)));
  }
}

/// All sizes but the last `count`.
Shape leading(const Tensor& tensor, int count) {
  return Shape(tensor.sizes().first(static_cast<size_t>(tensor.ndim() - count)));
}

Shape joined(const Shape& lead, std::initializer_list<int64_t> last) {
  Shape all = lead;
  for (const int64_t size : last) all.push_back(size);
  return all;
}

bool can_expand(const Tensor& tensor, const Shape& full) {
  const int lead = full.ndim() - tensor.ndim();
  if (lead < 0) return false;
  for (int dim = 0; dim < tensor.ndim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size != 1 && size != full[lead + dim]) return false;
  }
  return true;
}

/// How operands of any rank become [B, H, rows, columns] and results the rank of the operands.
struct Ranks {
  Shape lead;  // of the result
  int64_t batch = 1, heads = 1;

  explicit Ranks(const Shape& lead) : lead(lead) {
    if (lead.ndim() > 0) heads = lead[lead.ndim() - 1];
    for (int dim = 0; dim + 1 < lead.ndim(); ++dim) batch *= lead[dim];
  }
  /// `tensor`, broadcast over the leading dims, with `own_heads` of them.
  Tensor as_four(const Tensor& tensor, int64_t own_heads) const {
    Shape sizes = lead;
    if (lead.ndim() > 0) sizes[lead.ndim() - 1] = own_heads;
    const int64_t rows = tensor.size(-2), columns = tensor.size(-1);
    const Shape full = joined(sizes, {rows, columns});
    const Tensor spread = equal(tensor.sizes(), full) ? tensor : expand(tensor, full);
    return spread.ndim() == 4 ? spread : reshape(spread, Shape{batch, own_heads, rows, columns});
  }
  /// A mask of any rank in four dims, which may be 1.
  Tensor mask_as_four(const Tensor& mask, int64_t rows, int64_t columns) const {
    Tensor spread = mask;
    while (spread.ndim() < 2) spread = unsqueeze(spread, 0);
    const Shape full = joined(lead, {rows, columns});
    if (!can_expand(spread, full)) {
      throw ShapeError(str(kOp, ": attn_mask must broadcast to ", full, ", got ", describe(mask)));
    }
    if (lead.ndim() > 2) return reshape(expand(spread, full), Shape{batch, heads, rows, columns});
    while (spread.ndim() < 4) spread = unsqueeze(spread, 0);
    return spread;
  }
};

/// The leading sizes of the result. With shared heads, those of key and value may be fewer.
Shape lead_of(const Tensor& query, const Tensor& key, const Tensor& value, bool enable_gqa) {
  if (!enable_gqa) {
    const Shape first = broadcast_shapes(kOp, leading(query, 2), leading(key, 2));
    return broadcast_shapes(kOp, first, leading(value, 2));
  }
  const bool has_heads = query.ndim() >= 3 && key.ndim() >= 3 && value.ndim() >= 3;
  if (!has_heads || key.size(-3) != value.size(-3) || key.size(-3) == 0 ||
      query.size(-3) % key.size(-3) != 0) {
    throw ShapeError(str(kOp,
                         ": enable_gqa needs heads of key and value that divide those of query, "
                         "got query ",
                         describe(query), ", key ", describe(key), " and value ", describe(value)));
  }
  const Shape first = broadcast_shapes(kOp, leading(query, 3), leading(key, 3));
  return joined(broadcast_shapes(kOp, first, leading(value, 3)), {query.size(-3)});
}

void check_mask(const Tensor& mask, DType dtype, bool is_causal) {
  if (is_causal) {
    throw ValueError(str(kOp, ": is_causal needs no attn_mask, got ", describe(mask)));
  }
  if (mask.dtype() != DType::boolean && mask.dtype() != dtype) {
    throw DTypeError(str(kOp, ": attn_mask needs bool or the dtype of query, got ", describe(mask),
                         " for ", dtype));
  }
}

/// What one call asks of the random sequence.
RandomState reserve_dropout(const Tensor& query, const Ranks& ranks, int64_t rows, int64_t columns,
                            double dropout_p) {
  if (dropout_p <= 0) return {};
  const int64_t counters = ranks.batch * ranks.heads * rows * ((columns + 3) / 4);
  return ops::random_part(query, counters);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  const autograd::CompositeCall call("scaled_dot_product_attention", __builtin_return_address(0));
  check_operands(query, key, value);
  if (!(dropout_p >= 0 && dropout_p <= 1)) {
    throw ValueError(str(kOp, ": dropout_p needs a probability from 0 to 1, got ", dropout_p));
  }
  if (attn_mask.defined()) check_mask(attn_mask, query.dtype(), is_causal);
  const Ranks ranks(lead_of(query, key, value, enable_gqa));
  const int64_t rows = query.size(-2), columns = key.size(-2);
  const int64_t key_heads = enable_gqa ? key.size(-3) : ranks.heads;
  const Tensor q = ranks.as_four(query, ranks.heads), k = ranks.as_four(key, key_heads);
  const Tensor v = ranks.as_four(value, key_heads);
  const Tensor mask =
      attn_mask.defined() ? ranks.mask_as_four(attn_mask, rows, columns) : attn_mask;
  const double factor = scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  const RandomState state = reserve_dropout(query, ranks, rows, columns, dropout_p);
  const auto seed = static_cast<int64_t>(state.seed), offset = static_cast<int64_t>(state.offset);
  Tensor out;
  const bool is_mask_recorded = mask.requires_grad() && is_grad_enabled();
  const bool has_mask_tangent = mask.defined() && (mask.gate_bits() & gate::kTangent) != 0;
  if (is_mask_recorded || has_mask_tangent) {
    const Tensor operands[] = {q, k, v, mask};
    out =
        autograd::rules::explicit_attention(operands, {dropout_p, is_causal, factor, seed, offset});
  } else {
    out = std::get<0>(attention(q, k, v, mask, dropout_p, is_causal, factor, seed, offset));
  }
  const Shape shape = joined(ranks.lead, {rows, value.size(-1)});
  return equal(out.sizes(), shape) ? out : reshape(out, shape);
}

}  // namespace ebb
