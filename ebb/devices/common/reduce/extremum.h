// ebb/devices/common/reduce/extremum.h -- extrema with their places: kernels/reduce/extremum.k.
#pragma once

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/signatures_running.h"

namespace ebb::devices {

// kernels::MaxDimKernel
void run_max_dim(const kernels::Context&, const kernels::TensorView& input, int dim,
                 const kernels::TensorView& out, const kernels::TensorView& indices);
void run_min_dim(const kernels::Context&, const kernels::TensorView& input, int dim,
                 const kernels::TensorView& out, const kernels::TensorView& indices);
/// kernels::RunningExtremumKernel
void run_running_extremum(const kernels::Context&, const kernels::TensorView& input, int dim,
                          bool largest, const kernels::TensorView& values,
                          const kernels::TensorView& indices);

}  // namespace ebb::devices
