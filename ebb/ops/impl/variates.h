// ebb/ops/impl/variates.h -- bodies of random ops whose distribution tensors describe.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor poisson(const Tensor& input);
/// Counts and probabilities broadcast.
EBB_API Tensor binomial(const Tensor& count, const Tensor& prob);
EBB_API Tensor standard_gamma(const Tensor& input, bool is_log);
EBB_API Tensor standard_gamma_grad(const Tensor& input, const Tensor& sample, bool is_log);

}  // namespace ebb::ops::impl
