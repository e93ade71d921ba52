// ebb/autograd/engine/engine.h -- backward() and grad(): run recorded nodes, each exactly once.
//
// A node is ready once all gradients that will reach it have; among ready nodes the one recorded
// last runs first. Nothing recurses, so the depth of a graph is bounded by memory alone. Nested and
// concurrent calls are ordinary. Start reading at run_graph() in run.cpp.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/place.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Whether backward() on this thread adds to leaves only after its last node, as it does by
/// default, so that a run that fails has added to none. Costs one more buffer per leaf that has a
/// gradient. (A leaf whose hooks want to see its new gradient is added to before them, and gets
/// back what it had.)
EBB_API bool is_accumulation_atomic();
EBB_API void set_accumulation_atomic(bool is_atomic);

/// Sets it for the length of a scope.
class AtomicAccumulation {
 public:
  explicit AtomicAccumulation(bool is_atomic = true) : saved_(is_accumulation_atomic()) {
    set_accumulation_atomic(is_atomic);
  }
  ~AtomicAccumulation() { set_accumulation_atomic(saved_); }
  AtomicAccumulation(const AtomicAccumulation&) = delete;
  AtomicAccumulation& operator=(const AtomicAccumulation&) = delete;

 private:
  bool saved_;
};

struct BackwardOptions {
  std::optional<bool> retain_graph = std::nullopt;  // default: create_graph
  bool create_graph = false;
  /// If these two are not empty, accumulate only there: into leaves, into the grad of other
  /// tensors, and at places alone into the tensors there that retain their gradient.
  std::span<const Tensor> inputs = {};
  std::span<const Place> input_places = {};
};

/// Sends `seeds[i]` into `roots[i]` and adds the gradient of every reachable leaf to its grad.
/// An undefined seed, or an empty span, stands for 1 and needs a root of one real floating element.
/// Throws AutogradError (no history, freed graph, stale value), ShapeError or DTypeError (seeds).
EBB_API void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds = {},
                      const BackwardOptions& options = {});
/// The same for one root.
EBB_API void backward(const Tensor& root, const Tensor& seed = {},
                      const BackwardOptions& options = {});
/// The same from places.
EBB_API void backward_from(std::span<const Place> roots, std::span<const Tensor> seeds = {},
                           const BackwardOptions& options = {});

struct GradOptions {
  std::optional<bool> retain_graph = std::nullopt;  // default: create_graph
  bool create_graph = false;
  bool allow_unused = false;       // give an undefined gradient instead of an error
  bool materialize_grads = false;  // give zeros instead
  bool only_inputs = true;         // if false, also add to every other leaf that is reached
  /// Seeds have one more dim in front: run once for each of its entries, and stack the gradients.
  bool is_grads_batched = false;
  /// Nothing passes here in this call; the tensors themselves stay as they are.
  std::span<const Place> no_grad_vars = {};
};

/// The gradients of the sum of `outputs` (weighted by `seeds`) with respect to `inputs`, in order.
/// Runs only what lies on a path to an input and touches no tensor's grad.
EBB_API std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                 std::span<const Tensor> seeds = {},
                                 const GradOptions& options = {});
/// The same between places.
EBB_API std::vector<Tensor> grad_between(std::span<const Place> outputs,
                                         std::span<const Place> inputs,
                                         std::span<const Tensor> seeds = {},
                                         const GradOptions& options = {});

namespace autograd {

/// What `node` computes from one gradient per output (undefined for none): one per edge, in the
/// shape and dtype of its input. An accumulator adds to its leaf and gives nothing. Calls no hooks
/// and frees nothing. Throws DTypeError for another number of gradients.
EBB_API std::vector<Tensor> call_node(Node& node, std::span<const Tensor> grad_outs);

}  // namespace autograd
}  // namespace ebb
