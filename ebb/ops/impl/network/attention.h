// ebb/ops/impl/network/attention.h -- bodies of the fused attention ops.
#pragma once

#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// The result, in the memory order of `query`, and the logarithm of each row's sum of exponentials,
/// in the dtype that is computed in.
EBB_API std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value, const Tensor& attn_mask,
                                             double dropout_p, bool is_causal, double scale,
                                             int64_t seed, int64_t offset);

EBB_API std::tuple<Tensor, Tensor, Tensor> attention_backward(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
    const Tensor& out, const Tensor& logsumexp, const Tensor& grad, double dropout_p,
    bool is_causal, double scale, int64_t seed, int64_t offset);

EBB_API Tensor attention_dropout(const Tensor& query, int64_t columns, double dropout_p,
                                 int64_t seed, int64_t offset);

}  // namespace ebb::ops::impl
