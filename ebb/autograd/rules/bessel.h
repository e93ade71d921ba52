// ebb/autograd/rules/bessel.h -- slopes of Bessel functions that divide by their argument.
//
// Near 0 they are power series, of which derivatives of any order that is used are right: a
// quotient there is the difference of numbers that grow without end.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The derivatives of special.i1, special.i1e, special.bessel_j1 and special.spherical_bessel_j0 at
/// `input`, where the function is `out`.
Tensor i1_slope(const Tensor& input, const Tensor& out);
Tensor i1e_slope(const Tensor& input);
Tensor j1_slope(const Tensor& input, const Tensor& out);
Tensor spherical_j0_slope(const Tensor& input, const Tensor& out);

}  // namespace ebb::autograd::rules
