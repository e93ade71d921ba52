// ebb/ops/impl/reduce/reduce.h -- bodies of reductions that are not of kind reduce.
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// Values and the index of their first occurrence. Throws IndexError for a dim of size 0.
EBB_API std::tuple<Tensor, Tensor> max(const Tensor& input, int64_t dim, bool keepdim);
EBB_API std::tuple<Tensor, Tensor> min(const Tensor& input, int64_t dim, bool keepdim);
/// The index of the first occurrence, along `dim` or in row-major order.
EBB_API Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim);
EBB_API Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim);

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
