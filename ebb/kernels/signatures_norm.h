// ebb/kernels/signatures_norm.h -- the kernels of layer_norm, rms_norm, group_norm and batch_norm.
//
// All operands are contiguous. Inputs, outputs and their gradients have the dtype of the key;
// weights, biases, statistics and the gradients of weights are in float32 for half types, else in
// the dtype of the key too. A null operand is absent, a null result unwanted.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// Rows that are normalised each by itself. A row is `channels` runs of `inner` elements, and
/// channel c of row r has the weight and bias number (r % groups) * channels + c.
struct RowNorm {
  int64_t rows = 0;
  int64_t groups = 1;
  int64_t channels = 0;
  int64_t inner = 1;
  bool is_centred = true;  // false: the mean counts as 0 (rms_norm)
  double eps = 0;

  int64_t width() const { return channels * inner; }
};

/// out = (input - mean) / sqrt(var + eps) * weight + bias, with mean and var of each row.
using RowNormKernel = void (*)(const Context&, const RowNorm&, const TensorView& input,
                               const TensorView* weight, const TensorView* bias,
                               const TensorView& out);

/// The gradients of that; mean and var are computed again.
using RowNormBackwardKernel = void (*)(const Context&, const RowNorm&, const TensorView& grad_out,
                                       const TensorView& input, const TensorView* weight,
                                       const TensorView* grad_input, const TensorView* grad_weight,
                                       const TensorView* grad_bias);

/// An input [samples, channels, inner] whose channels are normalised.
struct ChannelNorm {
  int64_t samples = 0;
  int64_t channels = 0;
  int64_t inner = 1;
  bool is_training = true;  // false: mean and var are given and constant
  double eps = 0;
};

/// The same for channels. mean and var (without Bessel's correction) hold one element per channel:
/// written when training, else read.
using BatchNormKernel = void (*)(const Context&, const ChannelNorm&, const TensorView& input,
                                 const TensorView* weight, const TensorView* bias,
                                 const TensorView& mean, const TensorView& var,
                                 const TensorView& out);

/// The gradients of that, from the statistics that the kernel gave or was given.
using BatchNormBackwardKernel = void (*)(const Context&, const ChannelNorm&,
                                         const TensorView& grad_out, const TensorView& input,
                                         const TensorView* weight, const TensorView& mean,
                                         const TensorView& var, const TensorView* grad_input,
                                         const TensorView* grad_weight,
                                         const TensorView* grad_bias);

}  // namespace ebb::kernels
