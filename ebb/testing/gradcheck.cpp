// ebb/testing/gradcheck.cpp -- gradcheck() and gradgradcheck(): which functions are checked, and
// how.
#include "ebb/testing/gradcheck.h"

#include <algorithm>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/testing/check.h"

namespace ebb::testing {
namespace {

bool is_checked(const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

std::vector<Tensor> checked_among(std::span<const Tensor> tensors) {
  std::vector<Tensor> found;
  for (const Tensor& one : tensors) {
    if (is_checked(one)) found.push_back(one);
  }
  return found;
}

std::vector<Tensor> joined(std::span<const Tensor> first, std::span<const Tensor> second) {
  std::vector<Tensor> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

/// Gradients of the outputs' shapes that require gradients themselves.
std::vector<Tensor> random_seeds(std::span<const Tensor> outputs, bool are_strided) {
  std::vector<Tensor> seeds;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    const Components values = random_direction(component_count(output), 3 + seeds.size());
    Tensor seed = from_components(output, values);
    if (are_strided && seed.ndim() > 0) seed = select(stack(std::vector{seed, seed}, -1), -1, 0);
    seeds.push_back(requires_grad_(seed));
  }
  return seeds;
}

/// The gradients of `function` as a function of its `count` inputs and its seeds.
TensorFunction gradients_of(const TensorFunction& function, size_t count) {
  return [&function, count](std::span<const Tensor> arguments) {
    const std::vector<Tensor> outputs = checked_among(function(arguments.first(count)));
    const std::vector<Tensor> wanted = checked_among(arguments.first(count));
    const std::span<const Tensor> given = arguments.subspan(count);
    const std::span<const Tensor> seeds = given.first(std::min(given.size(), outputs.size()));
    std::vector<Tensor> found =
        grad(outputs, wanted, seeds, {.create_graph = true, .allow_unused = true});
    std::erase_if(found, [](const Tensor& one) { return !one.defined(); });
    return found;
  };
}

/// The tangents of `function` as a function of its `count` inputs and their directions.
TensorFunction tangents_of(const TensorFunction& function, size_t count) {
  return [&function, count](std::span<const Tensor> arguments) {
    std::vector<Tensor> primals(arguments.begin(), arguments.begin() + static_cast<int64_t>(count));
    size_t next = count;
    const ForwardLevelGuard level;
    for (Tensor& primal : primals) {
      if (is_checked(primal)) primal = make_dual(primal, arguments[next++]);
    }
    std::vector<Tensor> found;
    for (const Tensor& out : function(primals)) {
      if (!is_differentiable(out.dtype())) continue;
      const Tensor tangent = unpack_dual(out).tangent;
      if (tangent.defined()) found.push_back(tangent);
    }
    return found;
  };
}

}  // namespace

void gradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
               const GradcheckOptions& options) {
  if (!options.check_backward_ad && !options.check_forward_ad) {
    throw ValueError("gradcheck: needs check_backward_ad or check_forward_ad, got neither of them");
  }
  if (options.check_batched_grad && !options.check_backward_ad) {
    throw ValueError("gradcheck: check_batched_grad needs check_backward_ad, got False");
  }
  if (options.check_batched_forward_grad && !options.check_forward_ad) {
    throw ValueError("gradcheck: check_batched_forward_grad needs check_forward_ad, got False");
  }
  Check check("gradcheck", function, inputs, options);
  if (options.check_backward_ad) check.run();
  if (options.check_forward_ad) check.run_forward();
}

void gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                   std::span<const Tensor> grad_outputs, const GradcheckOptions& options) {
  if (!options.check_backward_ad && !options.check_forward_ad && !options.check_rev_over_fwd) {
    throw ValueError(
        "gradgradcheck: needs check_rev_over_rev, check_fwd_over_rev or check_rev_over_fwd, got "
        "none of them");
  }
  const bool are_strided = options.gen_non_contig_grad_outputs;
  if (options.check_backward_ad || options.check_forward_ad) {
    std::vector<Tensor> drawn;
    if (grad_outputs.empty()) drawn = random_seeds(function(inputs), are_strided);
    const std::vector<Tensor> all = joined(inputs, grad_outputs.empty() ? drawn : grad_outputs);
    const TensorFunction gradients = gradients_of(function, inputs.size());
    Check check("gradgradcheck", gradients, all, options);
    if (options.check_backward_ad) check.run();
    if (options.check_forward_ad) check.run_forward();
  }
  if (options.check_rev_over_fwd) {
    const std::vector<Tensor> steps = random_seeds(checked_among(inputs), are_strided);
    const std::vector<Tensor> all = joined(inputs, steps);
    const TensorFunction tangents = tangents_of(function, inputs.size());
    Check("gradgradcheck", tangents, all, options).run();
  }
}

}  // namespace ebb::testing
