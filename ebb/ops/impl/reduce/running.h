// ebb/ops/impl/reduce/running.h -- bodies of the ops that tell what is known of all elements up to
// each.
#pragma once

#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API std::tuple<Tensor, Tensor> cummax(const Tensor& input, int64_t dim);
EBB_API std::tuple<Tensor, Tensor> cummin(const Tensor& input, int64_t dim);

}  // namespace ebb::ops::impl
