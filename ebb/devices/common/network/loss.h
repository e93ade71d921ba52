// ebb/devices/common/network/loss.h -- losses and their gradients: kernels/network/nll_loss.k,
// difference_loss.k.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::NllLossKernel
void run_nll_loss(const kernels::Context&, const kernels::TensorView& input,
                  const kernels::TensorView& target, const kernels::TensorView* weight,
                  int64_t ignore_index, kernels::Reduction reduction,
                  const kernels::TensorView& out, const kernels::TensorView& total_weight);
/// kernels::NllLossBackwardKernel
void run_nll_loss_backward(const kernels::Context&, const kernels::TensorView& grad_out,
                           const kernels::TensorView& target, const kernels::TensorView* weight,
                           int64_t ignore_index, kernels::Reduction reduction,
                           const kernels::TensorView& total_weight,
                           const kernels::TensorView& grad_input);
/// kernels::DifferenceLossKernel
void run_difference_loss(const kernels::Context&, kernels::DifferenceLoss loss, double beta,
                         const kernels::TensorView& input, const kernels::TensorView& target,
                         double divisor, bool is_reduced, const kernels::TensorView& out);
/// kernels::DifferenceLossBackwardKernel
void run_difference_loss_backward(const kernels::Context&, kernels::DifferenceLoss loss,
                                  double beta, const kernels::TensorView& grad_out,
                                  const kernels::TensorView& input,
                                  const kernels::TensorView& target, double divisor,
                                  const kernels::TensorView& grad_input);

}  // namespace ebb::devices
