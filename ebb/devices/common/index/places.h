// ebb/devices/common/index/places.h -- numbers of places: several indices as one, and what is true.
#pragma once

#include <span>

#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

/// A place that is none, and all that is made of it, is -1; ops have queued a look that tells it.
int64_t run_combine_index(const kernels::Context& context, const kernels::TensorView& index,
                          int64_t size, bool is_first, const kernels::TensorView& out);
/// Without `out` it waits for the stream: the number of places is a size.
int64_t run_find_true(const kernels::Context& context, const kernels::TensorView& mask,
                      const kernels::TensorView* out);
void run_unravel(const kernels::Context& context, const kernels::TensorView& flat,
                 std::span<const int64_t> sizes, const kernels::TensorView& out);

}  // namespace ebb::devices
