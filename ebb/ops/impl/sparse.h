// ebb/ops/impl/sparse.h -- bodies of the ops that make sparse tensors, take them apart, convert
// them.
#pragma once

#include <string_view>

#include "ebb/core/tensor/sparse.h"

namespace ebb::ops::impl {

/// Throw ShapeError, IndexError or ValueError for parts that do not fit together.
EBB_API Tensor sparse_coo(const Tensor& indices, const Tensor& values, IntSpan size,
                          bool is_coalesced);
EBB_API Tensor sparse_csr(const Tensor& crow_indices, const Tensor& col_indices,
                          const Tensor& values, IntSpan size);
EBB_API Tensor sparse_rows(const Tensor& rows, const Tensor& values, IntSpan size,
                           bool is_coalesced);

EBB_API Tensor to_dense(const Tensor& input);
EBB_API Tensor coalesce(const Tensor& input);
EBB_API Tensor sparse_as(const Tensor& input, std::string_view layout);

EBB_API Tensor stored_indices(const Tensor& input);
EBB_API Tensor stored_values(const Tensor& input);
// Throw ValueError for a tensor that is not coalesced, NotImplementedError for another layout.
EBB_API Tensor coalesced_values(const Tensor& input);
EBB_API Tensor indices(const Tensor& input);
EBB_API Tensor crow_indices(const Tensor& input);
EBB_API Tensor col_indices(const Tensor& input);
EBB_API Tensor rows(const Tensor& input);

}  // namespace ebb::ops::impl
