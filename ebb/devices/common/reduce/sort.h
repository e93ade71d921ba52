// ebb/devices/common/reduce/sort.h -- sorts along a dim, the n-th element, and searches in what is
// sorted: kernels/reduce/sort.k and search.k.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

void run_sort(const kernels::Context& context, const kernels::TensorView& input, int dim,
              bool descending, const kernels::TensorView& out, const kernels::TensorView& indices);
void run_nth(const kernels::Context& context, const kernels::TensorView& input, int dim,
             int64_t position, bool nan_wins, const kernels::TensorView& out,
             const kernels::TensorView& indices);
void run_search(const kernels::Context& context, const kernels::TensorView& sorted,
                const kernels::TensorView& values, bool right, const kernels::TensorView& out);

}  // namespace ebb::devices
