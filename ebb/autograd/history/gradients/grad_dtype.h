// ebb/autograd/history/gradients/grad_dtype.h -- gradients of another dtype than their leaf, such
// as float32 ones of bfloat16 weights.
//
// A leaf's accumulator says which dtype it takes, and the engine casts what arrives, before it adds
// anything up. So there is nothing more to a leaf's grad_dtype than what its accumulator says.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// The dtype of the leaf's gradient: its own, unless another was set. Throws AutogradError for a
/// tensor that is no leaf.
EBB_API DType grad_dtype(const Tensor& leaf);
/// From now on the leaf gets gradients of `dtype`. Exchanging its data for data of another dtype
/// ends that. Throws AutogradError unless it is a leaf that requires a gradient, DTypeError for a
/// dtype that has no gradient, that is complex where the leaf is real or real where it is complex,
/// or that is not that of the gradient which the leaf has already.
EBB_API void set_grad_dtype(const Tensor& leaf, DType dtype);

}  // namespace ebb
