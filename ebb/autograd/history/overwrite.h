// ebb/autograd/history/overwrite.h -- in-place forms that are made of the plain one (`inplace:
// copy`).
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// What the plain form is given of `self`, which its result will overwrite: a copy, if the call is
/// recorded and so may save it.
EBB_API Tensor kept(const Tensor& self);
/// Copies a result to `self`. Throws DTypeError or ShapeError, naming `op`, if `self` cannot hold
/// it.
EBB_API const Tensor& overwrite(const char* op, const Tensor& self, const Tensor& result);

}  // namespace ebb::autograd
