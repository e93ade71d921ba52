// ebb/nn/queued_grads.h -- what clip_grad.h does with gradients of a device: queued there, as ops
// or kernels, without waiting.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::nn::utils {

/// The gradients, if all are strided real ones of one device that has kernels for this; else none.
std::vector<Tensor> gradients_elsewhere(const std::vector<Tensor>& parameters);

/// The norm over all gradients, of which there is at least one, as a tensor of their device: summed
/// in float64 where the device has it, in float32 or, if a gradient is, float64.
Tensor queued_norm(const std::vector<Tensor>& grads, double norm_type);

/// Multiplies all gradients by max_norm / norm, or by 1 where that is more. NaN stays.
void queue_scaling(const char* op, const std::vector<Tensor>& grads, double max_norm,
                   const Tensor& norm);

/// Moves all elements into [-limit, limit]. NaN stays.
void queue_clamping(const char* op, const std::vector<Tensor>& grads, double limit);

/// Whether the gradient's device multiplies and looks in one kernel.
bool can_queue_unscaling(const Tensor& grad);
/// Multiplies such gradients, of any number of devices. A number for each device, which is not 0 if
/// an element was not finite before.
std::vector<Tensor> queue_unscaling(const char* op, const std::vector<Tensor>& grads,
                                    double inverse_scale);

}  // namespace ebb::nn::utils
