// ebb/autograd/rules/reduce/extrema.h -- gradient rules of what picks elements by size: extrema and
// sorts.
//
// `dim` and `keepdim` are those of the op, `shape` is its input's; the rules are in reduce.cpp.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Equal largest (smallest) elements share the gradient evenly.
Tensor extremum_grad(const Tensor& grad, const Tensor& input, const Tensor& out,
                     std::optional<IntSpan> dim, bool keepdim);
Tensor extremum_jvp(const Tensor& tangent, const Tensor& input, const Tensor& out,
                    std::optional<IntSpan> dim, bool keepdim);
/// The gradient goes to the element at each index along dim.
Tensor at_index_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, int64_t dim,
                     bool keepdim);
Tensor at_index_jvp(const Tensor& tangent, const Tensor& indices, int64_t dim, bool keepdim);

}  // namespace ebb::autograd::rules
