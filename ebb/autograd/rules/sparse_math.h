// ebb/autograd/rules/sparse_math.h -- what ops of other families mean for sparse operands.
//
// Each throws NotImplementedError where that is nothing.
#pragma once

#include <functional>
#include <optional>

#include "ebb/core/tensor/sparse.h"

namespace ebb::autograd::rules {

Tensor add_layouts(const Tensor& input, const Tensor& other);
Tensor mul_layouts(const Tensor& input, const Tensor& other);
Tensor div_layouts(const Tensor& input, const Tensor& other);
Tensor scale_sparse(const Tensor& input, const Scalar& factor);
Tensor divide_sparse(const Tensor& input, const Scalar& divisor);
Tensor sum_sparse(const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                  std::optional<DType> dtype);
Tensor cast_sparse(const Tensor& input, DType dtype);
Tensor clone_sparse(const Tensor& input);
Tensor move_sparse(const Tensor& input, Device device);
Tensor matmul_layouts(const Tensor& input, const Tensor& other);
Tensor transpose_sparse(const Tensor& input, int64_t dim0, int64_t dim1);
/// input to a power above 0, which leaves zeros as they are.
Tensor power_sparse(const Tensor& input, const Scalar& exponent);
/// A function that is 0 at 0, of the stored values, each place counted once.
Tensor on_values(const char* op, const Tensor& input,
                 const std::function<Tensor(const Tensor&)>& function);

}  // namespace ebb::autograd::rules
