// ebb/devices/common/pointwise/optim.h -- steps of optimizers, and gradients unscaled before them:
// kernels/pointwise/optim.k and unscale.k, one launch per parameter.
#pragma once

#include "ebb/kernels/step_table.h"

namespace ebb::devices {

/// All steps that the kernels know.
kernels::StepTable step_functions();

}  // namespace ebb::devices
