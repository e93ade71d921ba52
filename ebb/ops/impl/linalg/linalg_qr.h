// ebb/ops/impl/linalg/linalg_qr.h -- orthonormal bases of columns by LAPACK.
#pragma once

#include <string_view>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// R with the vectors of reflections below it, and their scales.
EBB_API std::tuple<Tensor, Tensor> geqrf(const Tensor& input);
/// Q and R; `mode` is reduced, complete, or r for R alone.
EBB_API std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode);

}  // namespace ebb::ops::impl
