// ebb/autograd/engine/places.cpp -- checking roots, seeds and inputs.
#include "ebb/autograd/engine/places.h"

#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/watch/call_text.h"
#include "ebb/autograd/watch/finite_check.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

/// The edge of a place that requires a gradient; throws for any other.
Edge checked_edge(const char* call, const char* noun, size_t position, const Places& places) {
  const Tensor& tensor = places.tensor(position);
  const Edge edge = places.edge(position);
  if (!tensor.defined()) {
    if (edge.node == nullptr) {
      throw ValueError(
          str(call, ": ", noun, ' ', position, " must be a tensor, got an undefined one"));
    }
    if (edge.index >= edge.node->output_count()) {
      throw IndexError(str(call, ": ", noun, ' ', position, " must be an output of ",
                           title_of(*edge.node), ", which has ", edge.node->output_count(),
                           ", got number ", edge.index));
    }
    return edge;
  }
  if (tensor.requires_grad()) return edge;
  throw AutogradError(
      str(call, ": ", noun, ' ', position, " (", describe_tensor(tensor),
          ") must require a gradient, got one that does not: ", explain_origin(tensor),
          "\nhint: ebb.explain(output, input) tells where the path is cut"));
}

bool has_one_element(const OutputMeta& meta) {
  for (const int64_t size : meta.shape()) {
    if (size != 1) return false;
  }
  return true;
}

/// The gradient that a run starts from: the given one, checked, or a one.
Tensor make_seed(const char* call, size_t position, const Edge& place, const Tensor& given) {
  const OutputMeta& meta = place.node->output_meta(place.index);
  const ModeScope ordinary(0, gate::kInference);  // it may become the gradient of a leaf
  if (!given.defined()) {
    if (!has_one_element(meta) || !is_floating(meta.dtype)) {
      throw AutogradError(str(call, ": without a gradient, tensor ", position,
                              " must have one real floating element, got ", describe_place(place),
                              "\nhint: pass its gradient, such as ones_like(it)"));
    }
    return one_for(meta);
  }
  if (!equal(given.sizes(), meta.shape())) {
    throw ShapeError(str(call, ": gradient ", position, " must have its tensor's shape ",
                         PrintShape{meta.shape()}, naming_of(place), ", got ",
                         describe_shape(given)));
  }
  const bool fits =
      is_differentiable(given.dtype()) && is_complex(given.dtype()) == is_complex(meta.dtype);
  if (!fits) {
    throw DTypeError(str(call, ": gradient ", position, " must be ",
                         is_complex(meta.dtype) ? "complex" : "real floating", " like its ",
                         meta.dtype, " tensor", naming_of(place), ", got ", given.dtype(),
                         naming_of(given)));
  }
  const Device device = revealed(meta.device);
  if (given.device() != device) {
    if (meta.ndim == 0) return make_seed(call, position, place, to_device(given, device));
    throw ValueError(str(call, ": gradient ", position, " must be on its tensor's device ",
                         to_string(device), naming_of(place), ", got ", to_string(given.device())));
  }
  return given.dtype() == meta.dtype ? given : cast_to(given, meta.dtype);
}

struct Start {
  const Edge& root;
  const Tensor& tensor;
  const Tensor& seed;
};
void look_at_start(const char* call, size_t position, const Start& start, uint32_t care) {
  if ((care & gate::kLog) != 0) log_run(call, start.root);
  if ((care & gate::kGradCheck) == 0) return;
  check_start(call, "tensor", position, start.tensor, care);
  check_start(call, "gradient", position, start.seed, care);
}

NodePtr<Node> share(Node* node) { return NodePtr<Node>::share(node); }

}  // namespace

void add_roots(const char* call, const Places& roots, std::span<const Tensor> seeds,
               uint32_t checks, RunBuffers& buffers) {
  if (roots.empty()) throw ValueError(str(call, ": needs at least one tensor, got none"));
  if (!seeds.empty() && seeds.size() != roots.size()) {
    throw ValueError(
        str(call, ": needs one gradient per tensor, got ", seeds.size(), " for ", roots.size()));
  }
  const Tensor none;
  for (size_t position = 0; position < roots.size(); ++position) {
    const Edge edge = checked_edge(call, "tensor", position, roots);
    const Tensor& given = seeds.empty() ? none : seeds[position];
    if ((checks & (gate::kGradCheck | gate::kLog)) != 0) [[unlikely]]
      look_at_start(call, position, {edge, roots.tensor(position), given}, checks);
    buffers.add_root(edge, make_seed(call, position, edge, given));
  }
}

void add_inputs(const Places& inputs, Restriction& restriction) {
  for (size_t position = 0; position < inputs.size(); ++position) {
    restriction.add_capture(checked_edge("grad", "input", position, inputs));
  }
}

void add_targets(const Places& targets, Restriction& restriction, std::vector<Tensor>& results) {
  for (size_t position = 0; position < targets.size(); ++position) {
    const Edge edge = checked_edge("backward", "input", position, targets);
    if (edge.node->is_accumulator()) {
      restriction.accumulators.push_back(share(edge.node));
      continue;
    }
    restriction.add_capture(edge);
    results.push_back(targets.tensor(position));
  }
}

void add_cuts(const Places& cuts, Restriction& restriction) {
  for (size_t position = 0; position < cuts.size(); ++position) {
    if (cuts.tensor(position).defined() && !cuts.tensor(position).requires_grad()) continue;
    const Edge edge = checked_edge("grad", "no_grad_vars entry", position, cuts);
    restriction.cuts.emplace_back(share(edge.node), edge.index);
  }
}

}  // namespace ebb::autograd
