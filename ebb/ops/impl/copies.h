// ebb/ops/impl/copies.h -- the copies that bodies of other ops make, and what overwrites elements.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

/// A new contiguous tensor.
EBB_API Tensor clone(const Tensor& input);
/// `input` itself if it is contiguous, else a clone.
EBB_API Tensor contiguous(const Tensor& input);
/// A new tensor of another dtype, also if it is the same one.
EBB_API Tensor cast(const Tensor& input, DType dtype);
/// `input`, converted only if its dtype differs.
EBB_API Tensor as_dtype(const Tensor& input, DType dtype);

EBB_API const Tensor& copy_(const Tensor& self, const Tensor& src);
EBB_API const Tensor& fill_(const Tensor& self, const Scalar& value);
EBB_API const Tensor& zero_(const Tensor& self);
/// Writes `src`, broadcast and converted, to `region` of `self`, whose first element is at `data`.
/// An `src` that overlaps the region is copied first; one on another device is brought along.
EBB_API void write_region(const char* op, const Tensor& self, const Geometry& region, void* data,
                          const Tensor& src);
/// Whether two tensors may have an element in common in memory.
EBB_API bool may_overlap(const Tensor& lhs, const Tensor& rhs);

}  // namespace ebb::ops::impl
