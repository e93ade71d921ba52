// ebb/ops/impl/new_tensors.h -- the tensors that bodies of other ops make.
//
// Without a dtype, floating point means the default dtype; full takes the kind of its number.
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
/// Ones on the diagonal of an n by m (or n by n) matrix.
EBB_API Tensor eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype,
                   std::optional<Device> device);

}  // namespace ebb::ops::impl
