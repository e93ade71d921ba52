// ebb/autograd/history/casts/remade_cast.h -- casts that autocast makes for an op and that the op's
// node need not keep, because what they were made of stays alive anyway.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Casts of fewer bytes cost less to keep than to make again.
inline constexpr size_t kLeastRemadeBytes = size_t{32} << 10;

/// Whether the node that made `source` keeps its memory for its own backward.
bool is_kept_by_producer(const Tensor& source);

/// Where the node of `out` saved `cast`, which was made of `source`, it keeps `source` from now on
/// and casts again when it is asked.
void keep_source(const Tensor& out, const Tensor& cast, const Tensor& source);

}  // namespace ebb::autograd
