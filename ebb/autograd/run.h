// ebb/autograd/run.h -- one run over a graph: what is asked of it. See run.cpp.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ebb/autograd/node.h"
#include "ebb/autograd/run_state.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Everything that a caller decides about a run.
struct RunRequest {
  /// Edges whose gradient is wanted back, in the caller's order.
  std::vector<std::pair<NodePtr<Node>, uint32_t>> captures;
  /// In a restricted run: leaves that accumulate what arrives.
  std::vector<NodePtr<Node>> accumulators;
  /// Edges that nothing passes in this run. Needs is_restricted.
  std::vector<std::pair<NodePtr<Node>, uint32_t>> cuts;
  bool is_restricted = false;  // run only what leads to a capture or an accumulator ...
  bool other_leaves = false;   // ... and to any leaf that is no capture, which then accumulates
  bool create_graph = false;
  bool releases = true;
  bool stages_all = false;  // also leaves that have a gradient are added to at the end only
  LocationId location = 0;  // of the call
  uint32_t watch = 0;       // gate bits: checks of gradients, and whether nodes are ranges of time
  bool is_careful = false;  // create_graph, or something to watch: nodes need more than being run
  bool is_careful_with_leaves = false;  // stages_all, or a profile

  bool checks_gradients() const { return (watch & gate::kGradCheck) != 0; }
  /// Called when the leaves have received their gradients, before the run's callbacks.
  std::function<void(std::vector<Tensor>& captured)> finish;

  void add_capture(const Edge& edge) {
    captures.emplace_back(NodePtr<Node>::share(edge.node), edge.index);
  }
};

/// Runs the graph. Returns one gradient per capture, undefined where none arrived.
std::vector<Tensor> run_graph(const RunRequest& request, RunBuffers& buffers);

}  // namespace ebb::autograd
