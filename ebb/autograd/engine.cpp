// ebb/autograd/engine.cpp -- backward() and grad(): checking what they are given, and calling a
// run.
//
// The run itself is run.h (its state, and the two places that state can live in) and run.cpp.
#include "ebb/autograd/engine.h"

#include <unordered_set>

#include "ebb/autograd/gradient_math.h"
#include "ebb/autograd/origin.h"
#include "ebb/autograd/record.h"
#include "ebb/autograd/run.h"
#include "ebb/autograd/variable.h"
#include "ebb/core/error.h"

namespace ebb {
namespace {

thread_local bool accumulation_is_atomic = false;

using autograd::Edge;
using autograd::RunRequest;

[[noreturn]] void throw_no_history(const char* call, size_t position, const Tensor& root) {
  throw AutogradError(
      str(call, ": tensor ", position, " (", root.dtype(), ' ', PrintShape{root.sizes()},
          ") must require a gradient, got one that does not: ", autograd::explain_origin(root)));
}

/// The gradient that a run starts from: the given one, checked, or a one.
Tensor make_seed(const char* call, size_t position, const Tensor& root, const Tensor& given) {
  if (!given.defined()) {
    if (root.numel() != 1 || !is_floating(root.dtype())) {
      throw AutogradError(str(call, ": without a gradient, tensor ", position,
                              " must have one real floating element, got ", root.dtype(), ' ',
                              PrintShape{root.sizes()},
                              "\nhint: pass its gradient, such as ones_like(it)"));
    }
    return autograd::implicit_seed(root);
  }
  if (!equal(given.sizes(), root.sizes())) {
    throw ShapeError(str(call, ": gradient ", position, " must have its tensor's shape ",
                         PrintShape{root.sizes()}, ", got ", PrintShape{given.sizes()}));
  }
  const bool fits =
      is_differentiable(given.dtype()) && is_complex(given.dtype()) == is_complex(root.dtype());
  if (!fits) {
    throw DTypeError(str(call, ": gradient ", position, " must be ",
                         is_complex(root.dtype()) ? "complex" : "real floating", " like its ",
                         root.dtype(), " tensor, got ", given.dtype()));
  }
  return given.dtype() == root.dtype() ? given : autograd::cast_to(given, root.dtype());
}

void add_roots(const char* call, std::span<const Tensor> roots, std::span<const Tensor> seeds,
               autograd::RunBuffers& buffers) {
  if (roots.empty()) throw ValueError(str(call, ": needs at least one tensor, got none"));
  if (!seeds.empty() && seeds.size() != roots.size()) {
    throw ValueError(
        str(call, ": needs one gradient per tensor, got ", seeds.size(), " for ", roots.size()));
  }
  for (size_t position = 0; position < roots.size(); ++position) {
    const Tensor& root = roots[position];
    if (!root.defined()) {
      throw ValueError(str(call, ": tensor ", position, " must be a tensor, got an undefined one"));
    }
    if (!root.requires_grad()) throw_no_history(call, position, root);
    Tensor seed = make_seed(call, position, root, seeds.empty() ? Tensor() : seeds[position]);
    buffers.add_root(autograd::gradient_edge(root), std::move(seed));
  }
}

void check_input(const char* call, size_t position, const Tensor& input) {
  if (!input.defined()) {
    throw ValueError(str(call, ": input ", position, " must be a tensor, got an undefined one"));
  }
  if (!input.requires_grad()) {
    throw AutogradError(
        str(call, ": input ", position,
            " must require a gradient, got one that does not: ", autograd::explain_origin(input)));
  }
}

/// Checks tensors whose gradients are asked for and adds a capture for each.
void add_inputs(std::span<const Tensor> inputs, RunRequest& request) {
  for (size_t position = 0; position < inputs.size(); ++position) {
    check_input("grad", position, inputs[position]);
    request.add_capture(autograd::gradient_edge(inputs[position]));
  }
}

/// Checks tensors that backward() is restricted to. Leaves accumulate as they always do; returns
/// the others, with a capture for each.
std::vector<Tensor> add_targets(std::span<const Tensor> inputs, RunRequest& request) {
  std::vector<Tensor> results;
  for (size_t position = 0; position < inputs.size(); ++position) {
    const Tensor& input = inputs[position];
    check_input("backward", position, input);
    const Edge edge = autograd::gradient_edge(input);
    if (is_leaf(input)) {
      request.accumulators.push_back(autograd::NodePtr<autograd::Node>::share(edge.node));
    } else {
      request.add_capture(edge);
      results.push_back(input);
    }
  }
  return results;
}

Tensor unused_gradient(size_t position, const Tensor& input, const GradOptions& options) {
  if (options.materialize_grads) {
    const Edge edge = autograd::gradient_edge(input);
    return autograd::zeros_for(edge.node->output_meta(edge.index));
  }
  if (options.allow_unused) return {};
  throw ValueError(
      str("grad: input ", position, " (", input.dtype(), ' ', PrintShape{input.sizes()},
          ") must have been used to compute the outputs, got one that was not",
          "\nhint: pass allow_unused=True for None, or materialize_grads=True for zeros"));
}

/// Adds to the gradient of each tensor, once however often it was named. Like a run's commit,
/// copies come first: if they run out of memory, nothing has happened.
void accumulate_captured(std::span<const Tensor> tensors, std::vector<Tensor>& captured) {
  std::unordered_set<const TensorImpl*> seen;
  for (size_t position = 0; position < captured.size(); ++position) {
    Tensor& grad = captured[position];
    // What asked to keep its gradient has received it from the run.
    const bool is_done =
        !seen.insert(tensors[position].impl()).second || retains_grad(tensors[position]);
    if (is_done) {
      grad = {};
    } else if (grad.defined()) {
      static_cast<void>(autograd::ensure_meta(tensors[position]));
      grad = autograd::owned_gradient(std::move(grad));
    }
  }
  for (size_t position = 0; position < captured.size(); ++position) {
    Tensor& grad = captured[position];
    if (grad.defined()) autograd::ensure_meta(tensors[position]).accumulate(std::move(grad));
  }
}

}  // namespace

bool is_accumulation_atomic() { return accumulation_is_atomic; }
void set_accumulation_atomic(bool is_atomic) { accumulation_is_atomic = is_atomic; }

void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds,
              const BackwardOptions& options) {
  RunRequest request;
  request.create_graph = options.create_graph;
  request.releases = !options.retain_graph.value_or(options.create_graph);
  request.location = current_location(__builtin_return_address(0));
  request.stages_all = is_accumulation_atomic();
  const autograd::BufferClaim buffers;
  add_roots("backward", roots, seeds, *buffers);
  const std::vector<Tensor> results = add_targets(options.inputs, request);
  request.is_restricted = !options.inputs.empty();
  if (!results.empty()) {
    request.finish = [&](std::vector<Tensor>& captured) { accumulate_captured(results, captured); };
  }
  autograd::run_graph(request, *buffers);
}

void backward(const Tensor& root, const Tensor& seed, const BackwardOptions& options) {
  const LocationScope location(current_location(__builtin_return_address(0)));
  backward(std::span(&root, 1), std::span(&seed, 1), options);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> seeds, const GradOptions& options) {
  if (inputs.empty()) throw ValueError("grad: needs at least one input, got none");
  RunRequest request;
  request.create_graph = options.create_graph;
  request.releases = !options.retain_graph.value_or(options.create_graph);
  request.location = current_location(__builtin_return_address(0));
  const autograd::BufferClaim buffers;
  add_roots("grad", outputs, seeds, *buffers);
  add_inputs(inputs, request);
  request.is_restricted = true;
  std::vector<Tensor> grads = autograd::run_graph(request, *buffers);
  for (size_t position = 0; position < grads.size(); ++position) {
    if (grads[position].defined()) {
      // A view that no_grad made, but nobody else knows its base: to the caller it is no view.
      if (autograd::is_private(grads[position])) grads[position].impl()->cut_from_base();
      continue;
    }
    grads[position] = unused_gradient(position, inputs[position], options);
  }
  return grads;
}

}  // namespace ebb
