// ebb/devices/common/network/pool.h -- pools and their gradients: kernels/network/pool.k.
#pragma once

#include "ebb/kernels/signatures_conv.h"
#include "ebb/kernels/signatures_pool.h"

namespace ebb::devices {

/// kernels::AvgPoolKernel
void run_avg_pool(const kernels::Context&, const kernels::PoolAxis& rows,
                  const kernels::PoolAxis& columns, const kernels::TensorView& input,
                  const kernels::TensorView& out);
/// kernels::AvgPoolBackwardKernel
void run_avg_pool_backward(const kernels::Context&, const kernels::PoolAxis& rows,
                           const kernels::PoolAxis& columns, const kernels::TensorView& grad,
                           const kernels::TensorView& grad_input);
/// kernels::MaxPoolKernel
void run_max_pool(const kernels::Context&, const kernels::PoolAxis& rows,
                  const kernels::PoolAxis& columns, const kernels::TensorView& input,
                  const kernels::TensorView& values, const kernels::TensorView& indices);
/// kernels::MaxPoolBackwardKernel; places outside of the plane get nothing, and none is reported.
bool run_max_pool_backward(const kernels::Context&, const kernels::TensorView& grad,
                           const kernels::TensorView& indices,
                           const kernels::TensorView& grad_input);
/// kernels::MaxPoolPlacesKernel
void run_max_pool_places(const kernels::Context&, int64_t slice,
                         const kernels::TensorView& in_slice, const kernels::TensorView& found);

}  // namespace ebb::devices
