// ebb/devices/cuda/cublas.h -- matrix products by cuBLAS, found when the first one is computed.
//
// EBB_CUBLAS_LIBRARY names the file, or says 0 for none; else libcublas is looked for among the
// system's libraries and in the toolkit's usual folder. Each stream has a handle of its own, so
// that results do not depend on what other streams do.
#pragma once

#include "ebb/devices/cuda/device.h"
#include "ebb/devices/launch/product.h"

namespace ebb::cuda {

/// Whether there is a library.
bool has_cublas();
/// Whether cuBLAS takes the product: floating dtypes, a step of 1 in each matrix, and numbers that
/// fit in 32 bits.
bool cublas_takes(const devices::Product& product);
/// Queues it. Throws Failure, naming the call.
void queue_by_cublas(CudaStream& stream, const devices::Product& product);

}  // namespace ebb::cuda
