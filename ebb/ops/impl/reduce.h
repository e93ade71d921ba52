// ebb/ops/impl/reduce.h -- bodies of sum, mean and max.
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor.h"

namespace ebb::ops::impl {

/// Integers and bool sum to int64 unless `dtype` says otherwise. No dim, or an empty list: all.
EBB_API Tensor sum(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                   std::optional<DType> dtype);
EBB_API Tensor mean(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                    std::optional<DType> dtype);
/// The largest of all elements; NaN counts as largest.
EBB_API Tensor max(const Tensor& input);
/// The largest along a dim and where it first occurs.
EBB_API std::tuple<Tensor, Tensor> max(const Tensor& input, int64_t dim, bool keepdim);

}  // namespace ebb::ops::impl
