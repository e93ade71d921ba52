// ebb/autograd/rules/sparse.h -- gradients of sparse tensors, and what strided ops mean for them.
//
// A gradient of a sparse tensor is a tensor of its shape in any layout: its stored values get what
// stands at their places. All of it is made of recorded ops on indices and values.
#pragma once

#include <optional>

#include "ebb/core/tensor/sparse.h"

namespace ebb::autograd::rules {

// Gradients (sparse.cpp).
/// The elements of `grad`, of any layout, at the places that indices name.
Tensor values_at_coo(const Tensor& grad, const Tensor& indices);
Tensor values_at_csr(const Tensor& grad, const Tensor& crow_indices, const Tensor& col_indices);
Tensor values_at_rows(const Tensor& grad, const Tensor& rows);
/// The same for the places that the coalesced `pattern` stores.
Tensor values_like(const Tensor& grad, const Tensor& pattern);
/// A tensor that stores `values` where `pattern` stores its own.
Tensor sparse_like(const Tensor& values, const Tensor& pattern);
/// `grad` where `pattern` stores something, in its layout and coalesced.
Tensor masked_like(const Tensor& grad, const Tensor& pattern);
/// A sparse `grad` of a matrix in another of its sparse layouts; any other as it is.
Tensor in_layout(const Tensor& grad, Layout layout);
/// The gradient of an embedding's weight: one row for each index but padding_idx.
Tensor embedding_rows(const Tensor& grad, const Tensor& indices, IntSpan shape,
                      int64_t padding_idx);

// What ops of the table mean if an operand is not strided (sparse_math.cpp). Each throws
// NotImplementedError where that is nothing.
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

}  // namespace ebb::autograd::rules
