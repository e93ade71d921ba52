// ebb/devices/common/pointwise/arrange.h -- linspace and triangle: kernels/pointwise/arrange.k.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::LinspaceKernel
void run_linspace(const kernels::Context&, const Scalar& start, const Scalar& end,
                  const kernels::TensorView& out);
/// kernels::TriangleKernel
void run_triangle(const kernels::Context&, const kernels::TensorView& input, int64_t diagonal,
                  bool is_upper, const kernels::TensorView& out);

}  // namespace ebb::devices
