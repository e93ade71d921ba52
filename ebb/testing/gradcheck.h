// ebb/testing/gradcheck.h -- compares gradients with finite differences.
//
//     const Tensor x = requires_grad_(randn({3, 4}, DType::float64));
//     testing::gradcheck([](auto in) { return std::vector{tanh(in[0])}; }, {&x, 1});
//
// Inputs that require a gradient are checked; others are passed on. They must be float64 or
// complex128: in less precision finite differences say nothing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::testing {

/// The function under test. It is called many times and must be deterministic.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct GradcheckOptions {
  double eps = 1e-6;   // step of the central difference
  double atol = 1e-5;  // tolerance: |a - n| <= atol + rtol * |n|
  double rtol = 1e-3;
  double nondet_tol = 0.0;        // by how much a second backward may differ from the first
  bool fast_mode = false;         // one random direction per pair instead of every element
  bool check_forward_ad = false;  // tangents too; in gradgradcheck() those of the gradients
};

/// Returns if the gradient of every output with respect to every input agrees with central
/// differences. Throws AutogradError naming output, input, the first wrong element, the worst one
/// and both values if one does not; DTypeError or ValueError for inputs that cannot be checked.
EBB_API void gradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                       const GradcheckOptions& options = {});

/// The same for second derivatives: checks the function that maps inputs and `grad_outputs` to
/// gradients. Without `grad_outputs` it draws some.
EBB_API void gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                           std::span<const Tensor> grad_outputs = {},
                           const GradcheckOptions& options = {});

}  // namespace ebb::testing
