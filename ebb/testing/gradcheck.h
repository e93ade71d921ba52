// ebb/testing/gradcheck.h -- compares derivatives with finite differences.
//
//     const Tensor x = requires_grad_(randn({3, 4}, DType::float64));
//     testing::gradcheck([](auto in) { return std::vector{tanh(in[0])}; }, {&x, 1});
//
// Inputs that require a gradient are checked; others, undefined ones among them, are passed on.
// They must be float64 or complex128: in less precision finite differences say nothing.
#pragma once

#include <span>

#include "ebb/core/tensor/tensor.h"
#include "ebb/testing/gradcheck_options.h"  // IWYU pragma: export

namespace ebb::testing {

/// Returns if the derivatives of every differentiable output with respect to every input agree with
/// central differences. Throws GradcheckError naming output, input, the first wrong element, the
/// worst one and both values, with a map, if one does not; DTypeError or ValueError for inputs that
/// cannot be checked and options that do not go together.
EBB_API void gradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                       const GradcheckOptions& options = {});

/// The same for second derivatives: checks the function that maps inputs and `grad_outputs` to
/// gradients. Without `grad_outputs` it draws some.
EBB_API void gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                           std::span<const Tensor> grad_outputs = {},
                           const GradcheckOptions& options = {});

}  // namespace ebb::testing
