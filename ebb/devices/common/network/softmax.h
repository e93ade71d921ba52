// ebb/devices/common/network/softmax.h -- softmax, log_softmax, logsumexp: kernels/softmax.k.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

// kernels::SoftmaxKernel
void run_softmax(const kernels::Context&, const kernels::TensorView& input, int dim,
                 const kernels::TensorView& out);
void run_log_softmax(const kernels::Context&, const kernels::TensorView& input, int dim,
                     const kernels::TensorView& out);
// kernels::SoftmaxBackwardKernel
void run_softmax_backward(const kernels::Context&, const kernels::TensorView& grad_out,
                          const kernels::TensorView& out, int dim,
                          const kernels::TensorView& grad_input);
void run_log_softmax_backward(const kernels::Context&, const kernels::TensorView& grad_out,
                              const kernels::TensorView& out, int dim,
                              const kernels::TensorView& grad_input);
/// kernels::LogSumExpKernel
void run_logsumexp(const kernels::Context&, const kernels::TensorView& input, int dim,
                   const kernels::TensorView& out);

}  // namespace ebb::devices
