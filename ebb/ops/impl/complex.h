// ebb/ops/impl/complex.h -- bodies of the ops that look at complex numbers as pairs of real ones.
//
// All are views: complex64 lies in memory as two float32, complex128 as two float64.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor real(const Tensor& input);
EBB_API Tensor imag(const Tensor& input);
EBB_API Tensor view_as_real(const Tensor& input);
EBB_API Tensor view_as_complex(const Tensor& input);

}  // namespace ebb::ops::impl
