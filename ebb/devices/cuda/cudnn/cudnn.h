// ebb/devices/cuda/cudnn/cudnn.h -- convolutions and attention by cuDNN, where there is one
// (library.h).
#pragma once

#include "ebb/devices/cuda/device.h"
#include "ebb/devices/launch/attention.h"
#include "ebb/devices/launch/convolution.h"

namespace ebb::cuda {

/// Queues the convolution and returns true, or does nothing and returns false where cuDNN has no
/// algorithm for it whose result depends on its operands alone. Throws Failure, naming the call.
bool queue_by_cudnn(CudaStream& stream, const devices::Convolution& convolution);
/// The same for attention, whose plan is made once for all calls with these sizes and strides:
/// cuDNN may compile a kernel for it, which takes about a second.
bool queue_by_cudnn(CudaStream& stream, const devices::Attention& attention);

}  // namespace ebb::cuda
