// ebb/autograd/history/gradients/shared_gradient.h -- leaves whose gradient is one tensor.
//
// Each leaf is added to once per run, so that the order of leaves does not matter; but where two of
// them have been given one tensor as their gradient, it shows in the last bit. A run on several
// threads reaches leaves in another order than one thread does: while gradients are shared, runs
// have one thread.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// `leaf` has been given a gradient that something in C++ held already.
void note_shared_gradient(const Tensor& leaf);

/// Whether one of them still has a gradient that is held elsewhere, be it by a variable.
bool any_gradient_is_shared();

}  // namespace ebb::autograd
