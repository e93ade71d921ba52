// ebb/autograd/checkpoint/checkpoint.h -- checkpoint(): trades memory for computing parts of a
// graph twice.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ebb/autograd/checkpoint/checkpoint_frame.h"
#include "ebb/autograd/checkpoint/selective_cache.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Returns function(inputs). What it saves for backward is not kept but computed again, by another
/// call of the function, when backward needs it. The function must do the same on every call; it is
/// kept as long as the graph. Inputs must not be written to. Throws what the function throws; a run
/// throws AutogradError if the second call saves other tensors than the first.
/// With a `policy`, results of ops that it wants saved are kept (selective_cache.h).
EBB_API std::vector<Tensor> checkpoint(
    std::function<std::vector<Tensor>(std::span<const Tensor>)> function,
    std::span<const Tensor> inputs, const CheckpointOptions& options = {},
    const CheckpointPolicyFunction& policy = {});

/// The same for a function of one tensor.
EBB_API Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input,
                          const CheckpointOptions& options = {},
                          const CheckpointPolicyFunction& policy = {});

}  // namespace ebb
