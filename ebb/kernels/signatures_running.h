// ebb/kernels/signatures_running.h -- the kernels of what is known of all elements up to each.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// The largest (smallest) of all elements up to each along dim, and the place of the last one of
/// that size; from the first NaN on that NaN. All operands have the sizes of input.
using RunningExtremumKernel = void (*)(const Context&, const TensorView& input, int dim,
                                       bool largest, const TensorView& values,
                                       const TensorView& indices);

}  // namespace ebb::kernels
