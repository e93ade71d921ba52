// ebb/autograd/engine/run.h -- one run over a graph: what is asked of it. See run.cpp.
#pragma once

#include <utility>
#include <vector>

#include "ebb/autograd/engine/run_state.h"
#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Takes what arrived at the captures once the leaves have their gradients, all or nothing.
class CaptureSink {
 public:
  /// Does what may fail, before anything is added to leaves. One gradient per capture.
  virtual void prepare(std::vector<Tensor>& captured) = 0;
  virtual void commit() = 0;

 protected:
  ~CaptureSink() = default;
};

/// A run of only what leads to a capture or an accumulator, and what becomes of it.
struct Restriction {
  /// Edges whose gradient is wanted back, in the caller's order.
  std::vector<std::pair<NodePtr<Node>, uint32_t>> captures;
  /// Leaves that accumulate what arrives.
  std::vector<NodePtr<Node>> accumulators;
  /// Edges that nothing passes in this run.
  std::vector<std::pair<NodePtr<Node>, uint32_t>> cuts;
  bool other_leaves = false;  // any leaf that is no capture also accumulates
  CaptureSink* sink = nullptr;
  /// The run puts one gradient per capture here, undefined where none arrived.
  std::vector<Tensor> captured;

  void add_capture(const Edge& edge) {
    captures.emplace_back(NodePtr<Node>::share(edge.node), edge.index);
  }
};

/// Everything that a caller decides about a run.
struct RunRequest {
  Restriction* restriction = nullptr;  // null: all that is reached runs, all leaves accumulate
  bool create_graph = false;
  bool releases = true;
  bool stages_all = false;  // also leaves that have a gradient are added to at the end only
  bool is_careful = false;  // create_graph, or something to watch: nodes need more than being run
  bool is_careful_with_leaves = false;  // stages_all, or a profile
  LocationId location = 0;              // of the call
  uint32_t watch = 0;  // gate bits: checks of gradients, and whether nodes are ranges of time

  bool is_restricted() const { return restriction != nullptr; }
  bool checks_gradients() const { return (watch & gate::kGradCheck) != 0; }
};

/// Runs the graph from the roots in `buffers`.
void run_graph(const RunRequest& request, RunBuffers& buffers);

}  // namespace ebb::autograd
