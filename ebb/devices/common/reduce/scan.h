// ebb/devices/common/reduce/scan.h -- running sums: kernels/reduce/scan.k.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::ScanKernel
void run_scan(const kernels::Context&, const kernels::TensorView& input, int dim, bool reversed,
              const kernels::TensorView& out);

}  // namespace ebb::devices
