// ebb/autograd/forward/functional.cpp -- runs a function on dual tensors, or on leaves and then
// backward.
#include "ebb/autograd/forward/functional.h"

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/forward/jvp_support.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace {

void check_count(const char* op, const char* what, size_t got, size_t needed) {
  if (got == needed) return;
  throw ValueError(str(op, ": needs ", needed, ' ', what, ", got ", got));
}

std::vector<Tensor> leaves_of(std::span<const Tensor> inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(requires_grad_(detach(input)));
  return leaves;
}

std::vector<Tensor> without_history(std::span<const Tensor> tensors) {
  std::vector<Tensor> cut;
  for (const Tensor& tensor : tensors) cut.push_back(detach(tensor));
  return cut;
}

/// Gradients of a weighted output; zeros where it does not depend on an input.
std::vector<Tensor> weighted_gradients(std::span<const Tensor> outputs,
                                       std::span<const Tensor> weights,
                                       std::span<const Tensor> inputs) {
  std::vector<Tensor> roots, seeds, zero;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    seeds.push_back(weights[i]);
  }
  if (!roots.empty()) {
    return grad(roots, inputs, seeds, {.retain_graph = true, .materialize_grads = true});
  }
  for (const Tensor& input : inputs) zero.push_back(autograd::zero_tangent(input));
  return zero;
}

/// Zeros with a one at an element, counted in row-major order.
Tensor unit_like(const Tensor& like, int64_t element) {
  const Tensor unit = zeros(Shape{like.numel()}, like.dtype(), like.device());
  fill_(select(unit, 0, element), 1.0);
  return reshape(unit, like.sizes());
}

/// The blocks of one output, one per input.
std::vector<Tensor> rows_of(const Tensor& out, std::span<const Tensor> inputs) {
  std::vector<std::vector<Tensor>> rows(inputs.size());
  for (int64_t element = 0; element < out.numel(); ++element) {
    const Tensor seed = unit_like(out, element);
    const std::vector<Tensor> grads =
        weighted_gradients(std::span(&out, 1), std::span(&seed, 1), inputs);
    for (size_t i = 0; i < inputs.size(); ++i) rows[i].push_back(grads[i]);
  }
  std::vector<Tensor> blocks;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = out.shape();
    for (const int64_t size : inputs[i].sizes()) shape.push_back(size);
    blocks.push_back(rows[i].empty() ? zeros(shape, inputs[i].dtype())
                                     : reshape(stack(rows[i], 0), shape));
  }
  return blocks;
}

}  // namespace

JacobianProduct jvp(const DifferentiableFunction& function, std::span<const Tensor> inputs,
                    std::span<const Tensor> directions) {
  check_count("jvp", "directions, one per input", directions.size(), inputs.size());
  const NoGradGuard guard;
  const ForwardLevelGuard level;
  std::vector<Tensor> duals;
  for (size_t i = 0; i < inputs.size(); ++i) duals.push_back(make_dual(inputs[i], directions[i]));
  JacobianProduct result;
  for (const Tensor& out : function(duals)) {
    const Dual dual = unpack_dual(out);
    result.outputs.push_back(dual.primal);
    result.product.push_back(autograd::tangent_or_zero(dual.tangent, dual.primal));
  }
  return result;
}

JacobianProduct vjp(const DifferentiableFunction& function, std::span<const Tensor> inputs,
                    std::span<const Tensor> weights) {
  const EnableGradGuard guard;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const std::vector<Tensor> outputs = function(leaves);
  check_count("vjp", "weights, one per output", weights.size(), outputs.size());
  return {without_history(outputs), weighted_gradients(outputs, weights, leaves)};
}

std::vector<std::vector<Tensor>> jacobian(const DifferentiableFunction& function,
                                          std::span<const Tensor> inputs) {
  const EnableGradGuard guard;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  std::vector<std::vector<Tensor>> matrix;
  for (const Tensor& out : function(leaves)) {
    const NoGradGuard no_recording;
    matrix.push_back(rows_of(out, leaves));
  }
  return matrix;
}

}  // namespace ebb
