// ebb/autograd/history/reach.h -- which leaves a graph leads to.
#pragma once

#include <span>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Whether a live leaf that is none of `own` lies behind one of the tensors, or behind a tangent
/// that one of them carries.
EBB_API bool reaches_other_leaves(std::span<const Tensor> tensors, std::span<const Tensor> own);

}  // namespace ebb::autograd
