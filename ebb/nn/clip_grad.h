// ebb/nn/clip_grad.h -- bounds and unscales gradients before a step, under PyTorch's names.
//
// All parameters are one job for the thread pool, split by size alone: results are bitwise the same
// for any number of threads. Gradients are written in place; parameters without one are skipped.
// Work on gradients of a device is queued there (queued_grads.h, docs/devices.md).
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::nn::utils {

/// Scales all gradients so that their common norm, of order `norm_type` (infinity included), is at
/// most `max_norm`. Returns the norm before that, 0-d, in the gradients' common dtype but at least
/// float32. Throws ValueError for bad numbers, and with `error_if_nonfinite` if the norm is not
/// finite; nothing is written then.
EBB_API Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                               double norm_type = 2.0, bool error_if_nonfinite = false);

/// Moves every element of every gradient into [-clip_value, clip_value]; NaN stays. Throws
/// ValueError for a negative bound, DTypeError for complex gradients.
EBB_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

/// Whether gradients were finite: known for those of the CPU, still to be asked of devices.
struct Finiteness {
  bool is_finite_here = true;
  std::vector<Tensor> found;  // one number per device: not 0 where something is not finite

  /// Waits for the devices.
  EBB_API bool is_finite() const;
};

/// Multiplies every gradient by `inverse_scale` and tells whether all were finite before; memory is
/// gone over once, on its own device, and nothing waits. Throws DTypeError for float16 gradients,
/// whose range the scale was to widen.
EBB_API Finiteness unscale_grads_(const std::vector<Tensor>& parameters, double inverse_scale);

}  // namespace ebb::nn::utils
