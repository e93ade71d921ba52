// ebb/autograd/rules/sparse.h -- gradients of sparse tensors.
//
// A gradient of a sparse tensor is a tensor of its shape in any layout: its stored values get what
// stands at their places. All of it is made of recorded ops on indices and values.
#pragma once

#include "ebb/core/tensor/sparse.h"

namespace ebb::autograd::rules {

/// The elements of `grad`, of any layout, at the places that indices name.
Tensor values_at_coo(const Tensor& grad, const Tensor& indices);
Tensor values_at_csr(const Tensor& grad, const Tensor& crow_indices, const Tensor& col_indices);
Tensor values_at_rows(const Tensor& grad, const Tensor& rows);
/// The row-major place of each column of `indices` among the first dims of `sizes`.
Tensor flat_places(const Tensor& indices, IntSpan sizes);
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

}  // namespace ebb::autograd::rules
