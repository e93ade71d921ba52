// ebb/ops/impl/network/conv_shape.h -- the sizes of a convolution, worked out and checked.
#pragma once

#include <string>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures_conv.h"
#include "ebb/ops/broadcast.h"

namespace ebb::ops {

/// What a convolution is told besides its operands. A list of one number counts for all dims.
struct ConvOptions {
  IntSpan stride, padding, dilation;
  bool transposed;
  IntSpan output_padding;  // read only if transposed
  int64_t groups;
};

/// "conv2d" or "conv_transpose2d", by the dims of the weight.
std::string conv_name(IntSpan weight, bool transposed);

/// The shape for an input and a weight, as the op sees them: a transposed convolution's input is
/// the output of the ConvShape. Throws ShapeError or ValueError, naming `op`, if they do not fit.
kernels::ConvShape conv_shape(const std::string& op, const SizesOf& input, const SizesOf& weight,
                              const ConvOptions& options);

/// The sizes of the tensor on either side of a ConvShape.
Shape conv_input_sizes(const kernels::ConvShape& shape);
Shape conv_output_sizes(const kernels::ConvShape& shape);

}  // namespace ebb::ops
