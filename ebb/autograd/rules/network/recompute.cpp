// ebb/autograd/rules/network/recompute.cpp -- runs a composite anew and differentiates it on the
// spot.
//
// The inputs that take part are given to the composite under an alias, where the inner run stops:
// what lies above belongs to the outer one. In a mode that records, the alias is connected to the
// input; otherwise it is a leaf of its own.
#include "ebb/autograd/rules/network/recompute.h"

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/zeros_like.h"

namespace ebb::autograd::rules {
namespace {

/// A tensor that stands for `input` and requires a gradient. `is_outer`: the outer run records.
Tensor alias_of(const Tensor& input, bool is_outer) {
  if (is_outer && input.requires_grad()) return expand(input, input.shape());
  const Tensor alias = requires_grad_(ebb::detach(input));
  copy_tangents(input, alias);
  return alias;
}

bool any_requires_grad(std::span<const Tensor> tensors) {
  for (const Tensor& one : tensors) {
    if (one.defined() && one.requires_grad()) return true;
  }
  return false;
}

bool can_differentiate(const Tensor& tensor) {
  return tensor.defined() && is_differentiable(tensor.dtype());
}

/// Inputs, and aliases in place of those that take part.
struct Aliases {
  std::vector<Tensor> all;
  std::vector<Tensor> active;
  std::vector<size_t> positions;  // of the active ones among all

  Aliases(std::span<const Tensor> inputs, uint32_t wanted, bool is_outer)
      : all(inputs.begin(), inputs.end()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if ((wanted >> i & 1u) == 0 || !can_differentiate(all[i])) continue;
      all[i] = alias_of(all[i], is_outer);
      active.push_back(all[i]);
      positions.push_back(i);
    }
  }
};

/// Outputs whose weight is given and that have a history, with their weights.
struct Weighted {
  std::vector<Tensor> outputs, weights;

  Weighted(std::span<const Tensor> given, std::span<const Tensor> weights_of) {
    for (size_t i = 0; i < weights_of.size(); ++i) {
      if (!weights_of[i].defined() || !given[i].defined() || !given[i].requires_grad()) continue;
      outputs.push_back(given[i]);
      weights.push_back(weights_of[i]);
    }
  }
};

/// grad() that gives undefined tensors where nothing depends on an input.
std::vector<Tensor> grads_of(const Weighted& weighted, std::span<const Tensor> inputs,
                             bool create_graph) {
  if (weighted.outputs.empty() || inputs.empty()) return std::vector<Tensor>(inputs.size());
  return ebb::grad(weighted.outputs, inputs, weighted.weights,
                   {.create_graph = create_graph, .allow_unused = true});
}

/// Bit i: tensor i is there.
uint32_t defined_bits(std::span<const Tensor> tensors) {
  uint32_t bits = 0;
  for (size_t i = 0; i < tensors.size(); ++i) bits |= tensors[i].defined() ? 1u << i : 0u;
  return bits;
}

std::vector<Tensor> joined(std::span<const Tensor> first, std::span<const Tensor> second) {
  std::vector<Tensor> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

/// A fused backward op as a composite: of the inputs of `composite`, then the gradients of its
/// outputs.
struct FirstGrads {
  const Composite& composite;
  size_t inputs, count;  // of `composite`; of the results
  uint32_t wanted;       // among the results
  std::vector<Tensor> operator()(std::span<const Tensor> given) const {
    std::vector<Tensor> grads =
        recomputed_grads(composite, given.first(inputs), given.subspan(inputs), wanted);
    grads.resize(count);
    return grads;
  }
};

/// recomputed_grads(), told whether the outer run records.
std::vector<Tensor> grads_within(const Composite& composite, std::span<const Tensor> inputs,
                                 std::span<const Tensor> grad_outs, uint32_t wanted,
                                 bool is_outer) {
  std::vector<Tensor> found(inputs.size());
  const EnableGradGuard guard;
  const Aliases aliases(inputs, wanted, is_outer);
  const std::vector<Tensor> outputs = composite(aliases.all);
  const std::vector<Tensor> grads =
      grads_of(Weighted(outputs, grad_outs), aliases.active, is_outer);
  for (size_t i = 0; i < grads.size(); ++i) found[aliases.positions[i]] = grads[i];
  return found;
}

}  // namespace

std::vector<Tensor> recomputed_grads(const Composite& composite, std::span<const Tensor> inputs,
                                     std::span<const Tensor> grad_outs, uint32_t wanted) {
  const bool is_outer =
      is_grad_enabled() && (any_requires_grad(inputs) || any_requires_grad(grad_outs));
  return grads_within(composite, inputs, grad_outs, wanted, is_outer);
}

std::vector<Tensor> recomputed_second_grads(const Composite& composite,
                                            std::span<const Tensor> inputs,
                                            std::span<const Tensor> grad_outs,
                                            std::span<const Tensor> grads_of, uint32_t wanted) {
  const FirstGrads first{composite, inputs.size(), grads_of.size(), defined_bits(grads_of)};
  return recomputed_grads(first, joined(inputs, grad_outs), grads_of, wanted);
}

std::vector<Tensor> recomputed_tangents(const Composite& composite, std::span<const Tensor> inputs,
                                        std::span<const Tensor> tangents) {
  const uint32_t moving = defined_bits(tangents);
  std::vector<Tensor> shapes;
  {
    const NoGradGuard guard;
    shapes = composite(inputs);
  }
  // The gradient is linear in the weights of the outputs: its derivative along the tangents, with
  // respect to the weights, is the tangent of the outputs.
  std::vector<Tensor> weights;
  for (const Tensor& one : shapes) weights.push_back(one.defined() ? zeros_like(one) : one);
  const auto gradient = [&](std::span<const Tensor> given) {
    return recomputed_grads(composite, inputs, given, moving);
  };
  // The outer run may record what depends on the inputs, which are part of `gradient`.
  const bool is_outer =
      is_grad_enabled() && (any_requires_grad(inputs) || any_requires_grad(tangents));
  return grads_within(gradient, weights, tangents, kAllInputs, is_outer);
}

std::vector<Tensor> recomputed_grad_tangents(const Composite& composite,
                                             std::span<const Tensor> inputs,
                                             std::span<const Tensor> grad_outs,
                                             std::span<const Tensor> tangents, size_t count) {
  const FirstGrads first{composite, inputs.size(), count, (1u << count) - 1};
  return recomputed_tangents(first, joined(inputs, grad_outs), tangents);
}

}  // namespace ebb::autograd::rules
