// ebb/devices/cuda/cudnn.h -- convolutions by cuDNN, found when the first one is computed.
//
// EBB_CUDNN_LIBRARY names the file, or says 0 for none; else libcudnn is looked for among the
// system's libraries and in the toolkit's usual folder. Each stream has a handle of its own.
#pragma once

#include "ebb/devices/cuda/device.h"
#include "ebb/devices/launch/convolution.h"

namespace ebb::cuda {

/// Whether there is a library.
bool has_cudnn();
/// Queues the convolution and returns true, or does nothing and returns false where cuDNN has no
/// algorithm for it whose result depends on its operands alone. Throws Failure, naming the call.
bool queue_by_cudnn(CudaStream& stream, const devices::Convolution& convolution);

}  // namespace ebb::cuda
