// ebb/autograd/rules/arrange.h -- rules of what lays elements out anew.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Each number with the other sign.
std::vector<int64_t> negated(IntSpan values);

/// Views of so many equal parts, or of those between indices, along `dim`, or the last one if there
/// are less. Throws ShapeError or ValueError, naming `op`, for less than `least_ndim` dims.
std::vector<Tensor> parts_along(const char* op, const Tensor& input, int64_t sections,
                                int least_ndim, int dim);
std::vector<Tensor> parts_along(const char* op, const Tensor& input, IntSpan indices,
                                int least_ndim, int dim);

}  // namespace ebb::autograd::rules
