// ebb/autograd/history/reach.h -- where a graph leads: to which leaves, to what an earlier step
// recorded.
#pragma once

#include <cstdint>
#include <span>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Whether a live leaf that is none of `own` lies behind one of the tensors, or behind a tangent
/// that one of them carries.
EBB_API bool reaches_other_leaves(std::span<const Tensor> tensors, std::span<const Tensor> own);

/// Whether a tensor was carried with its history from an earlier step of a program: its history
/// leads to the node with that number, and to an op before, recorded at the place of the one that
/// made the tensor.
EBB_API bool is_carried(const Tensor& tensor, uint64_t sequence);

}  // namespace ebb::autograd
