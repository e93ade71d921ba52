// ebb/devices/common/network/norm.h -- layer_norm, rms_norm, group_norm and batch_norm with their
// gradients: kernels/network/row_norm.k, batch_norm.k.
#pragma once

#include "ebb/kernels/signatures_norm.h"

namespace ebb::devices {

/// kernels::RowNormKernel
void run_row_norm(const kernels::Context&, const kernels::RowNorm&,
                  const kernels::TensorView& input, const kernels::TensorView* weight,
                  const kernels::TensorView* bias, const kernels::TensorView& out);
/// kernels::RowNormBackwardKernel
void run_row_norm_backward(const kernels::Context&, const kernels::RowNorm&,
                           const kernels::TensorView& grad_out, const kernels::TensorView& input,
                           const kernels::TensorView* weight, const kernels::TensorView* grad_input,
                           const kernels::TensorView* grad_weight,
                           const kernels::TensorView* grad_bias);
/// kernels::BatchNormKernel
void run_batch_norm(const kernels::Context&, const kernels::ChannelNorm&,
                    const kernels::TensorView& input, const kernels::TensorView* weight,
                    const kernels::TensorView* bias, const kernels::TensorView& mean,
                    const kernels::TensorView& var, const kernels::TensorView& out);
/// kernels::BatchNormBackwardKernel
void run_batch_norm_backward(const kernels::Context&, const kernels::ChannelNorm&,
                             const kernels::TensorView& grad_out, const kernels::TensorView& input,
                             const kernels::TensorView* weight, const kernels::TensorView& mean,
                             const kernels::TensorView& var, const kernels::TensorView* grad_input,
                             const kernels::TensorView* grad_weight,
                             const kernels::TensorView* grad_bias);

}  // namespace ebb::devices
