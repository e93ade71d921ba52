// ebb/autograd/engine/place.h -- where a run starts, or what it is asked for: a tensor or an edge.
#pragma once

#include <utility>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// A tensor, or its place in the graph alone: where a run starts, or what it is asked for.
struct Place {
  Place(Tensor tensor) : tensor(std::move(tensor)) {}             // NOLINT: is one
  Place(autograd::GradientEdge edge) : alone(std::move(edge)) {}  // NOLINT: is one
  /// Where the gradient goes; no node if nowhere.
  autograd::Edge edge() const {
    if (tensor.defined()) return autograd::gradient_edge(tensor);
    return {alone.node.get(), alone.output_nr};
  }

  Tensor tensor;                 // undefined for a place alone
  autograd::GradientEdge alone;  // of no node for a tensor
};

}  // namespace ebb
