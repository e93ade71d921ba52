// ebb/kernels/signatures_random.h -- kernels that draw numbers whose distribution tensors describe.
//
// All tensors are contiguous and of one size. Element i depends on (state, i) and on element i of
// the operands alone: an element that rejects a candidate draws again from a sequence of its own.
#pragma once

#include "ebb/core/base/random.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// out = counts of events that come independently, input of them in the mean; finite, not negative.
using PoissonKernel = void (*)(const Context&, const RandomState& state, const TensorView& input,
                               const TensorView& out);

/// out = successes in count trials of probability prob; counts are whole, finite, not negative.
using BinomialKernel = void (*)(const Context&, const RandomState& state, const TensorView& count,
                                const TensorView& prob, const TensorView& out);

/// out = gamma variables of scale 1 and the shape that input gives, or their logarithms, which are
/// finite also where the variable itself is too small for the dtype. NaN where input is below 0.
using GammaKernel = void (*)(const Context&, const RandomState& state, const TensorView& input,
                             bool is_log, const TensorView& out);

/// out = the derivative of sample (what GammaKernel gave for input) by input, while its share in
/// the distribution stays.
using GammaGradKernel = void (*)(const Context&, const TensorView& input, const TensorView& sample,
                                 bool is_log, const TensorView& out);

}  // namespace ebb::kernels
