// ebb/devices/common/gemm/library_gemm.h -- products of matrices by a library of the back end,
// where it has one that takes them.
#pragma once

#include "ebb/devices/common/gemm/gemm_task.h"

namespace ebb::devices {

/// Queues it and returns true, or does nothing and returns false.
bool run_by_library(const Gemm& gemm, const kernels::Context& context);

}  // namespace ebb::devices
