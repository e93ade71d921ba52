// ebb/autograd/forward/functional.h -- products with the Jacobian of a function, and the Jacobian
// itself.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// A function of several tensors with several results.
using DifferentiableFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// What the function returned, and a product with its Jacobian. Neither has history.
struct JacobianProduct {
  std::vector<Tensor> outputs;
  std::vector<Tensor> product;
};

/// The Jacobian times `directions`, one per input, in forward mode: one run of `function`.
/// Throws ValueError if the counts differ, and what make_dual() throws.
EBB_API JacobianProduct jvp(const DifferentiableFunction& function, std::span<const Tensor> inputs,
                            std::span<const Tensor> directions);
/// `weights`, one per output, times the Jacobian: one run of `function` and one backward.
/// Throws ValueError if the counts differ, and what grad() throws.
EBB_API JacobianProduct vjp(const DifferentiableFunction& function, std::span<const Tensor> inputs,
                            std::span<const Tensor> weights);
/// The Jacobian by output and input; the shape of each block is that of the output followed by that
/// of the input. One backward per element of the outputs.
EBB_API std::vector<std::vector<Tensor>> jacobian(const DifferentiableFunction& function,
                                                  std::span<const Tensor> inputs);

}  // namespace ebb
