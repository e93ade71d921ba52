// ebb/core/device/cudnn_switch.h -- whether convolutions and attention on CUDA devices may
// be cuDNN's.
#pragma once

#include "ebb/core/base/export.h"

namespace ebb {

/// True unless somebody forbids it, by the flag `cudnn`; then they are ebb's own kernels, as where
/// there is no cuDNN. Asked for each of them.
EBB_API bool is_cudnn_allowed();

}  // namespace ebb
