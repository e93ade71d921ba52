// ebb/autograd/engine.h -- backward() and grad(): run recorded nodes, each exactly once.
//
// A node is ready once all gradients that will reach it have; among ready nodes the one recorded
// last runs first. Nothing recurses, so the depth of a graph is bounded by memory alone. Nested and
// concurrent calls are ordinary. Start reading at run_graph() in engine.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ebb/autograd/node.h"
#include "ebb/core/tensor.h"

namespace ebb {

struct BackwardOptions {
  std::optional<bool> retain_graph = std::nullopt;  // default: create_graph
  bool create_graph = false;
  /// If not empty, accumulate into these tensors only (leaves or not).
  std::span<const Tensor> inputs = {};
};

/// Sends `seeds[i]` into `roots[i]` and adds the gradient of every reachable leaf to its grad.
/// An undefined seed, or an empty span, stands for 1 and needs a root of one real floating element.
/// Throws AutogradError (no history, freed graph, stale value), ShapeError or DTypeError (seeds).
EBB_API void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds = {},
                      const BackwardOptions& options = {});
/// The same for one root.
EBB_API void backward(const Tensor& root, const Tensor& seed = {},
                      const BackwardOptions& options = {});

struct GradOptions {
  std::optional<bool> retain_graph = std::nullopt;  // default: create_graph
  bool create_graph = false;
  bool allow_unused = false;       // give an undefined gradient instead of an error
  bool materialize_grads = false;  // give zeros instead
};

/// The gradients of the sum of `outputs` (weighted by `seeds`) with respect to `inputs`, in order.
/// Runs only what lies on a path to an input and touches no tensor's grad.
EBB_API std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                 std::span<const Tensor> seeds = {},
                                 const GradOptions& options = {});

}  // namespace ebb
