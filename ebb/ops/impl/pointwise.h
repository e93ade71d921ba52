// ebb/ops/impl/pointwise.h -- pointwise ops that no single kernel computes.
#pragma once

#include "ebb/core/tensor.h"

namespace ebb::ops::impl {

/// input * other, but 0 wherever input is 0: a zero gradient stays zero at a singular point.
Tensor mul0(const Tensor& input, const Tensor& other);

}  // namespace ebb::ops::impl
