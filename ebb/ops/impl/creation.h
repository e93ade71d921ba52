// ebb/ops/impl/creation.h -- bodies of the ops that make tensors out of nothing.
//
// Without a dtype, floating point means the default dtype; arange takes the kind of its numbers.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/impl/new_tensors.h"

namespace ebb::ops::impl {

/// start, start + step, ... below `end` (above it, if step is negative).
EBB_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
                      std::optional<DType> dtype, std::optional<Device> device);
EBB_API Tensor arange(const Scalar& end, std::optional<DType> dtype, std::optional<Device> device);

/// `steps` numbers from `start` to `end`, both included.
EBB_API Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                        std::optional<DType> dtype, std::optional<Device> device);

/// Standard normal numbers from default_generator().
EBB_API Tensor randn(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);
/// Uniform numbers in [0, 1) from default_generator().
EBB_API Tensor rand(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);

}  // namespace ebb::ops::impl
