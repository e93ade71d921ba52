// ebb/ops/impl/copy.h -- bodies of the ops that copy, convert or overwrite elements.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/impl/copies.h"

namespace ebb::ops::impl {

/// A new tensor of another dtype, also if it is the same one.
EBB_API Tensor cast(const Tensor& input, DType dtype);
/// The values on another device; `input` itself if it is there.
EBB_API Tensor to_device(const Tensor& input, Device device);
/// The same memory without history.
EBB_API Tensor detach(const Tensor& input);

EBB_API const Tensor& copy_(const Tensor& self, const Tensor& src);
EBB_API const Tensor& fill_(const Tensor& self, const Scalar& value);
EBB_API const Tensor& zero_(const Tensor& self);

}  // namespace ebb::ops::impl
