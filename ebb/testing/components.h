// ebb/testing/components.h -- tensors as rows of real numbers, for gradcheck.
//
// A complex element counts as two components.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::testing {

using Components = std::vector<double>;

size_t component_count(const Tensor& tensor);
/// Where each component of a float64 or complex128 tensor lies in memory.
std::vector<double*> component_addresses(const Tensor& tensor);
/// All components in row-major order. Other dtypes are converted; what is not stored is 0.
Components components_of(const Tensor& tensor);
/// A tensor of the shape and dtype of `like` that holds these components.
Tensor from_components(const Tensor& like, const Components& components);
/// The index of a component, and which part of a complex number it is: "[1, 0] (real part)".
std::string place_of(const Tensor& tensor, size_t component);

/// A repeatable random vector of length 1.
Components random_direction(size_t count, uint64_t seed);
/// One component is 1, the others are 0.
Components unit(size_t count, size_t position);
double dot(const Components& lhs, const Components& rhs);
/// The component that is off by more than `atol + rtol * |second|` and by the most; -1 if none is.
int64_t farthest_apart(const Components& first, const Components& second, double rtol, double atol);

}  // namespace ebb::testing
