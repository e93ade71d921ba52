// ebb/ops/impl/reduce/reduce.h -- bodies of reductions that are not of kind reduce.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// The divisor is the number of elements less `correction`, but at least 0.
EBB_API Tensor var(const Tensor& input, std::optional<IntSpan> dim, double correction,
                   bool keepdim);
EBB_API Tensor std(const Tensor& input, std::optional<IntSpan> dim, double correction,
                   bool keepdim);
/// The p-norm, for any p but NaN.
EBB_API Tensor norm(const Tensor& input, double p, std::optional<IntSpan> dim, bool keepdim,
                    std::optional<DType> dtype);
EBB_API Tensor logsumexp(const Tensor& input, IntSpan dim, bool keepdim);

}  // namespace ebb::ops::impl
