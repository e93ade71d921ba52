// ebb/ops/impl/creation.h -- bodies of the ops that make tensors out of nothing.
//
// Without a dtype, floating point means the default dtype; arange and full take the kind of their
// numbers.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor empty(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);
EBB_API Tensor zeros(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);
EBB_API Tensor ones(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);
EBB_API Tensor full(IntSpan size, const Scalar& fill_value, std::optional<DType> dtype,
                    std::optional<Device> device);
EBB_API Tensor empty_like(const Tensor& input, std::optional<DType> dtype,
                          std::optional<Device> device = {});
EBB_API Tensor zeros_like(const Tensor& input, std::optional<DType> dtype,
                          std::optional<Device> device = {});
EBB_API Tensor ones_like(const Tensor& input, std::optional<DType> dtype,
                         std::optional<Device> device = {});
EBB_API Tensor full_like(const Tensor& input, const Scalar& fill_value, std::optional<DType> dtype,
                         std::optional<Device> device = {});

/// start, start + step, ... below `end` (above it, if step is negative).
EBB_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
                      std::optional<DType> dtype, std::optional<Device> device);
EBB_API Tensor arange(const Scalar& end, std::optional<DType> dtype, std::optional<Device> device);

/// `steps` numbers from `start` to `end`, both included.
EBB_API Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                        std::optional<DType> dtype, std::optional<Device> device);
/// Ones on the diagonal of an n by m (or n by n) matrix.
EBB_API Tensor eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype,
                   std::optional<Device> device);

/// Standard normal numbers from default_generator().
EBB_API Tensor randn(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);
/// Uniform numbers in [0, 1) from default_generator().
EBB_API Tensor rand(IntSpan size, std::optional<DType> dtype, std::optional<Device> device);

}  // namespace ebb::ops::impl
