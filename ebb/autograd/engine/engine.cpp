// ebb/autograd/engine/engine.cpp -- backward() and grad(): from what they are given to a run.
//
// What they are given is checked in places.cpp; the run itself is run.cpp.
#include "ebb/autograd/engine/engine.h"

#include <unordered_set>

#include "ebb/autograd/engine/places.h"
#include "ebb/autograd/engine/run.h"
#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace {

thread_local constinit bool accumulation_is_atomic = true;

using autograd::Edge;
using autograd::OutputMeta;
using autograd::Places;
using autograd::RunRequest;

/// Adds what arrived to the gradient of each tensor, once however often it was named. An undefined
/// tensor stands for a place alone, which has no gradient of its own.
class GradientSink final : public autograd::CaptureSink {
 public:
  /// The tensors of the captures.
  std::vector<Tensor> tensors;

  void prepare(std::vector<Tensor>& captured) override {
    std::unordered_set<const TensorImpl*> seen;
    prepared_.resize(captured.size());
    for (size_t position = 0; position < captured.size(); ++position) {
      Tensor grad = std::move(captured[position]);
      const Tensor& tensor = tensors[position];
      // What asked to keep its gradient has received it from the run.
      const bool is_done =
          !tensor.defined() || !seen.insert(tensor.impl()).second || retains_grad(tensor);
      if (!is_done && grad.defined()) {
        prepared_[position] = autograd::ensure_meta(tensor).prepare(std::move(grad));
      }
    }
  }

  void commit() override {
    for (size_t position = 0; position < tensors.size(); ++position) {
      if (!prepared_[position].grad.defined()) continue;
      autograd::ensure_meta(tensors[position]).accumulate(std::move(prepared_[position]));
    }
  }

 private:
  std::vector<autograd::PreparedGradient> prepared_;
};

template <typename Options>
RunRequest make_request(const Options& options, LocationId location) {
  RunRequest request;
  request.care = {options.create_graph, !is_accumulation_atomic(), thread_state.modes};
  request.releases = !options.retain_graph.value_or(options.create_graph);
  request.location = location;
  return request;
}

[[gnu::noinline]] void run_restricted(const BackwardOptions& options, RunRequest& request,
                                      autograd::RunBuffers& buffers) {
  autograd::Restriction restriction;
  GradientSink sink;
  add_targets(options.inputs, restriction, sink.tensors);
  add_targets(options.input_places, restriction, sink.tensors);
  if (!sink.tensors.empty()) restriction.sink = &sink;
  request.restriction = &restriction;
  autograd::run_graph(request, buffers);
}

void run_backward(const Places& roots, std::span<const Tensor> seeds,
                  const BackwardOptions& options, LocationId location) {
  RunRequest request = make_request(options, location);
  const autograd::BufferClaim buffers;
  add_roots("backward", roots, seeds, request.care.checks(), *buffers);
  const bool is_restricted = !options.inputs.empty() || !options.input_places.empty();
  if (is_restricted) return run_restricted(options, request, *buffers);
  autograd::run_graph(request, *buffers);
}

/// One call of grad(). Where its outputs and inputs are in the graph is looked up once: hooks and
/// other threads may detach the tensors while it runs.
class GradCall {
 public:
  GradCall(const Places& outputs, const Places& inputs, const GradOptions& options,
           LocationId location)
      : outputs_(outputs), inputs_(inputs), options_(options), location_(location) {}

  /// Gradients where some arrived, undefined elsewhere.
  std::vector<Tensor> run(std::span<const Tensor> seeds) {
    RunRequest request = make_request(options_, location_);
    const autograd::BufferClaim buffers;
    add_roots("grad", pinned_.empty() ? outputs_ : Places(pinned_), seeds, request.care.checks(),
              *buffers);
    if (restriction_.captures.empty()) {
      add_inputs(inputs_, restriction_);
      add_cuts(options_.no_grad_vars, restriction_);
      restriction_.other_leaves = !options_.only_inputs;
      if (options_.is_grads_batched) pin_outputs();
    }
    request.restriction = &restriction_;
    autograd::run_graph(request, *buffers);
    return std::exchange(restriction_.captured, {});
  }

  /// The same for each entry of dim 0 of the seeds, stacked.
  std::vector<Tensor> run_batch(std::span<const Tensor> seeds, int64_t batch);

  /// Where an input is, once something ran.
  Edge input(size_t position) const {
    const auto& [node, index] = restriction_.captures[position];
    return {node.get(), index};
  }

 private:
  void pin_outputs();

  const Places& outputs_;
  const Places& inputs_;
  GradOptions options_;
  const LocationId location_;
  autograd::Restriction restriction_;
  std::vector<Place> pinned_;  // the outputs, if several runs start there
};

/// How many runs batched seeds ask for.
int64_t batch_size(std::span<const Tensor> seeds) {
  int64_t size = -1;
  for (size_t position = 0; position < seeds.size(); ++position) {
    if (!seeds[position].defined()) continue;
    const IntSpan sizes = seeds[position].sizes();
    const bool fits = !sizes.empty() && (size < 0 || sizes[0] == size);
    if (!fits) {
      throw ShapeError(str("grad: with is_grads_batched, dim 0 of every gradient must be the ",
                           "batch", size < 0 ? "" : str(", of ", size).c_str(), ", got ",
                           PrintShape{sizes}, " for gradient ", position));
    }
    size = sizes[0];
  }
  if (size < 1) {
    throw ValueError(str("grad: is_grads_batched needs gradients with at least one entry, got ",
                         size < 0 ? "none" : "an empty batch"));
  }
  return size;
}

/// The gradients of one input, of all runs. Where some runs gave one, the others gave zeros.
Tensor stack_grads(std::vector<Tensor> grads, const Edge& input) {
  bool any_defined = false;
  for (const Tensor& grad : grads) any_defined |= grad.defined();
  if (!any_defined) return {};
  for (Tensor& grad : grads) {
    if (!grad.defined()) grad = autograd::zeros_for(input.node->output_meta(input.index));
  }
  return stack(grads);
}

void GradCall::pin_outputs() {
  for (size_t position = 0; position < outputs_.size(); ++position) {
    const Edge edge = outputs_.edge(position);
    pinned_.emplace_back(
        autograd::GradientEdge{autograd::NodePtr<autograd::Node>::share(edge.node), edge.index});
  }
}

std::vector<Tensor> GradCall::run_batch(std::span<const Tensor> seeds, int64_t batch) {
  const bool retains = options_.retain_graph.value_or(options_.create_graph);
  std::vector<std::vector<Tensor>> by_input(inputs_.size());
  for (int64_t entry = 0; entry < batch; ++entry) {
    std::vector<Tensor> own;
    for (const Tensor& seed : seeds) own.push_back(seed.defined() ? select(seed, 0, entry) : seed);
    options_.retain_graph = retains || entry + 1 < batch;
    std::vector<Tensor> grads = run(own);
    for (size_t index = 0; index < grads.size(); ++index) {
      by_input[index].push_back(std::move(grads[index]));
    }
  }
  std::vector<Tensor> stacked;
  for (size_t index = 0; index < inputs_.size(); ++index) {
    stacked.push_back(stack_grads(std::move(by_input[index]), input(index)));
  }
  return stacked;
}

/// What grad() gives for an input that no gradient reached. Throws ValueError if that is nothing.
Tensor unused_gradient(size_t position, const Edge& input, const GradOptions& options) {
  const OutputMeta& meta = input.node->output_meta(input.index);
  if (options.materialize_grads) {
    // Under create_graph the other gradients may be differentiated: so may these.
    const Tensor zeros = autograd::zeros_for(meta);
    return options.create_graph ? requires_grad_(zeros) : zeros;
  }
  if (options.allow_unused) return {};
  throw ValueError(
      str("grad: input ", position, " (", describe_place(input),
          ") must have been used to compute the outputs, got one that was not",
          "\nhint: ebb.explain(output, input) tells where the path is cut; allow_unused=True gives "
          "None, materialize_grads=True zeros"));
}

std::vector<Tensor> grad_of_places(const Places& outputs, const Places& inputs,
                                   std::span<const Tensor> seeds, const GradOptions& options,
                                   LocationId location) {
  if (inputs.empty()) throw ValueError("grad: needs at least one input, got none");
  const int64_t batch = options.is_grads_batched ? batch_size(seeds) : 0;
  GradCall call(outputs, inputs, options, location);
  std::vector<Tensor> grads = batch > 0 ? call.run_batch(seeds, batch) : call.run(seeds);
  for (size_t position = 0; position < grads.size(); ++position) {
    Tensor& grad = grads[position];
    if (grad.defined()) {
      // A view that no_grad made, but nobody else knows its base: to the caller it is no view.
      if (autograd::is_private(grad)) grad.impl()->cut_from_base();
      continue;
    }
    grad = unused_gradient(position, call.input(position), options);
    if (!grad.defined() || batch == 0) continue;
    grad = stack(std::vector<Tensor>(static_cast<size_t>(batch), grad));
  }
  return grads;
}

}  // namespace

bool is_accumulation_atomic() { return accumulation_is_atomic; }
void set_accumulation_atomic(bool is_atomic) { accumulation_is_atomic = is_atomic; }

void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds,
              const BackwardOptions& options) {
  run_backward(roots, seeds, options, current_location(__builtin_return_address(0)));
}

void backward(const Tensor& root, const Tensor& seed, const BackwardOptions& options) {
  run_backward(std::span(&root, 1), std::span(&seed, 1), options,
               current_location(__builtin_return_address(0)));
}

void backward_from(std::span<const Place> roots, std::span<const Tensor> seeds,
                   const BackwardOptions& options) {
  run_backward(roots, seeds, options, current_location(__builtin_return_address(0)));
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> seeds, const GradOptions& options) {
  return grad_of_places(outputs, inputs, seeds, options,
                        current_location(__builtin_return_address(0)));
}

std::vector<Tensor> grad_between(std::span<const Place> outputs, std::span<const Place> inputs,
                                 std::span<const Tensor> seeds, const GradOptions& options) {
  return grad_of_places(outputs, inputs, seeds, options,
                        current_location(__builtin_return_address(0)));
}

std::vector<Tensor> autograd::call_node(Node& node, std::span<const Tensor> grad_outs) {
  if (grad_outs.size() != node.output_count()) {
    throw DTypeError(str(node.name(), ": expected ", node.output_count(), " arguments, got ",
                         grad_outs.size(), " instead"));
  }
  std::vector<Tensor> grads(grad_outs.begin(), grad_outs.end());
  bool any_defined = false;
  for (uint32_t index = 0; index < grads.size(); ++index) {
    if (!grads[index].defined()) continue;
    any_defined = true;
    conform(grads[index], node.output_meta(index), node, index);
  }
  std::vector<Tensor> results(node.edge_count());
  if (!any_defined) return results;
  NodeRun run(node, false, nullptr);
  node.apply(grads.data(), results.data(), run);
  for (size_t index = 0; index < results.size(); ++index) {
    const Edge& edge = node.edges()[index];
    Tensor& grad = results[index];
    if (edge.node == nullptr || !grad.defined()) continue;
    conform(grad, edge.node->output_meta(edge.index), node, index);
  }
  return results;
}

}  // namespace ebb
