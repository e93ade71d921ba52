// ebb/devices/common/gemm/gemm.h -- products of matrices, the ones that are the patches of an image
// included: kernels/gemm/gemm_registers.k on CPUs, kernels/gemm/gemm_local.k on GPUs.
//
// matmul, linear, convolutions, attention and recurrent layers all describe what they want as a
// Gemm. run_gemm() chooses the blocks, and cuts sums into parts where the result alone has too few
// blocks to fill the device: which depends on sizes and the device, never on timing.
#pragma once

#include "ebb/devices/common/gemm/gemm_task.h"
#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// Queues it. Throws MissingKernel for a dtype that the device lacks.
void run_gemm(const Gemm& gemm, const kernels::Context& context);

}  // namespace ebb::devices
