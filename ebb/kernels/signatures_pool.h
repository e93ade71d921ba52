// ebb/kernels/signatures_pool.h -- the kernels of pools that signatures_conv.h has not.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// The second pass over volumes: found [planes, windows in depth, windows of a slice] holds places
/// in in_slice [planes, depth, windows of a slice], which holds places in slices of `slice`
/// elements. found becomes the places in the volume; both are int32.
using MaxPoolPlacesKernel = void (*)(const Context&, int64_t slice, const TensorView& in_slice,
                                     const TensorView& found);

}  // namespace ebb::kernels
