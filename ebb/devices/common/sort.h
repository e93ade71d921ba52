// ebb/devices/common/sort.h -- sorts along a dim and the n-th element: kernels/sort.k.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

void run_sort(const kernels::Context& context, const kernels::TensorView& input, int dim,
              bool descending, const kernels::TensorView& out, const kernels::TensorView& indices);
void run_nth(const kernels::Context& context, const kernels::TensorView& input, int dim,
             int64_t position, bool nan_wins, const kernels::TensorView& out,
             const kernels::TensorView& indices);

}  // namespace ebb::devices
