// ebb/devices/common/gemm/matmul.h -- matmul and linear as products of matrices.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::MatmulKernel
void run_matmul(const kernels::Context&, const kernels::TensorView& input,
                const kernels::TensorView& other, const kernels::TensorView& out);
/// kernels::LinearKernel
void run_linear(const kernels::Context&, const kernels::TensorView& input,
                const kernels::TensorView& weight, const kernels::TensorView* bias,
                const kernels::TensorView& out);

}  // namespace ebb::devices
