// ebb/kernels/signatures_conv.h -- the function types of convolution and pooling kernels.
//
// Part of signatures.h, whose rules hold here too. All tensors are contiguous and none is empty.
#pragma once

#include <cstdint>
#include <span>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// The most spatial dims of a convolution.
inline constexpr int kMaxSpatial = 3;

/// The sizes of a convolution (a cross-correlation, as everywhere in this field) of an input
/// [batch, in_channels, input...] with a weight [out_channels, in_channels / groups, kernel...] to
/// an output [batch, out_channels, output...]. A transposed one has the same shape: it goes from
/// output to input. With fewer than three spatial dims the first ones have size 1.
struct ConvShape {
  int64_t spatial = 0;
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  int64_t input[kMaxSpatial] = {1, 1, 1};
  int64_t kernel[kMaxSpatial] = {1, 1, 1};
  int64_t output[kMaxSpatial] = {1, 1, 1};
  int64_t stride[kMaxSpatial] = {1, 1, 1};
  int64_t padding[kMaxSpatial] = {0, 0, 0};
  int64_t dilation[kMaxSpatial] = {1, 1, 1};

  int64_t input_numel() const { return input[0] * input[1] * input[2]; }
  int64_t kernel_numel() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t output_numel() const { return output[0] * output[1] * output[2]; }
  int64_t weight_numel() const { return out_channels * (in_channels / groups) * kernel_numel(); }
};

/// output = convolution of input and weight, plus bias [out_channels], which may be null.
using ConvForwardKernel = void (*)(const Context&, const ConvShape& shape, const TensorView& input,
                                   const TensorView& weight, const TensorView* bias,
                                   const TensorView& output);

/// The transposed map, output to input: input = sum of weight over what each output has seen of it,
/// plus bias [in_channels], which may be null.
using ConvInputKernel = void (*)(const Context&, const ConvShape& shape, const TensorView& output,
                                 const TensorView& weight, const TensorView* bias,
                                 const TensorView& input);

/// weight = sum over batch and places of output * input: the gradient with respect to the weight.
using ConvWeightKernel = void (*)(const Context&, const ConvShape& shape, const TensorView& output,
                                  const TensorView& input, const TensorView& weight);

/// What a window of a pool covers along one dim: `size` elements from `begin`, `step` apart.
struct PoolWindow {
  int64_t begin = 0, size = 0, step = 1;
  double count = 1;  // an average divides by the product of its windows' counts
};

/// The windows along one dim. If stride is not 0, window i without its clipped parts begins at
/// i * stride - padding and has `kernel` elements.
struct PoolAxis {
  std::span<const PoolWindow> windows;
  int64_t stride = 0, padding = 0, kernel = 0;
};

/// out[p, i, j] = mean of input[p, rows[i], columns[j]]; input [planes, h, w].
using AvgPoolKernel = void (*)(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                               const TensorView& input, const TensorView& out);

/// The transposed map: grad_input [planes, h, w] from grad [planes, windows, windows].
using AvgPoolBackwardKernel = AvgPoolKernel;

/// The largest element of each window and its place in the plane, int32; the first one of equal
/// ones. NaN counts as largest. No window is empty, and a plane has fewer than 2^31 elements.
using MaxPoolKernel = void (*)(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                               const TensorView& input, const TensorView& values,
                               const TensorView& indices);

/// grad_input [planes, h, w] = 0, then += grad [planes, i, j] at the places in indices, in order.
/// False if a place lies outside of the plane.
using MaxPoolBackwardKernel = bool (*)(const Context&, const TensorView& grad,
                                       const TensorView& indices, const TensorView& grad_input);

}  // namespace ebb::kernels
