// ebb/ops/impl/reduce/reduce_blocks.h -- a reduction of converted elements that converts a block at
// a time.
#pragma once

#include <initializer_list>

#include "ebb/kernels/signatures.h"
#include "ebb/ops/impl/reduce/reduced_shape.h"

namespace ebb::ops::impl {

using ReduceTable = kernels::KernelTable<kernels::ReduceKernel>;

/// Elements that are converted at a time: they stay in the cache until they are reduced.
inline constexpr int64_t kConvertedBlock = int64_t{1} << 16;

/// Reduces `input`, converted to `dtypes` one after the other, to `shape.out` of the last of them.
/// The results of blocks are reduced again by the same kernel, so what it computes must be
/// associative. The memory beside input and result does not grow with them, or hardly.
Tensor reduce_converted(const char* op, const ReduceTable& table, const Tensor& input,
                        const ReducedShape& shape, std::initializer_list<DType> dtypes);

}  // namespace ebb::ops::impl
