// ebb/devices/common/network/conv.h -- convolutions and their gradients as products of matrices.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::ConvForwardKernel
void run_conv_forward(const kernels::Context&, const kernels::ConvShape& shape,
                      const kernels::TensorView& input, const kernels::TensorView& weight,
                      const kernels::TensorView* bias, const kernels::TensorView& output);
/// kernels::ConvInputKernel
void run_conv_input(const kernels::Context&, const kernels::ConvShape& shape,
                    const kernels::TensorView& output, const kernels::TensorView& weight,
                    const kernels::TensorView* bias, const kernels::TensorView& input);
/// kernels::ConvWeightKernel
void run_conv_weight(const kernels::Context&, const kernels::ConvShape& shape,
                     const kernels::TensorView& output, const kernels::TensorView& input,
                     const kernels::TensorView& weight);

}  // namespace ebb::devices
