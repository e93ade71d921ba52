// ebb/devices/common/network/attention.h -- attention and its gradients: products of matrices and
// kernels/network/attention.k.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::AttentionKernel
void run_attention(const kernels::Context&, const kernels::TensorView& query,
                   const kernels::TensorView& key, const kernels::TensorView& value,
                   const kernels::AttentionOptions& options, const kernels::TensorView& out,
                   const kernels::TensorView& logsumexp);
/// kernels::AttentionBackwardKernel
void run_attention_backward(const kernels::Context&, const kernels::AttentionSaved& saved,
                            const kernels::AttentionOptions& options,
                            const kernels::TensorView& grad_query,
                            const kernels::TensorView& grad_key,
                            const kernels::TensorView& grad_value);
/// kernels::AttentionDropoutKernel
void run_attention_dropout(const kernels::Context&, const kernels::AttentionOptions& options,
                           const kernels::TensorView& out);

}  // namespace ebb::devices
