// ebb/autograd/engine/run_request.h -- what a caller asks of one run over a graph.
#pragma once

#include <utility>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/base/thread_state.h"
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

/// How careful a run is: what it does beyond running nodes and adding to leaves, as bits of one
/// word. A plain run's is 0.
class Care {
 public:
  static constexpr uint32_t kRecords = 1u << 0;    // create_graph: what nodes compute is recorded
  static constexpr uint32_t kAddsEarly = 1u << 1;  // leaves that have a gradient: not at the end

  Care() = default;
  /// `modes`: those of the thread that asks for the run. Checks of gradients, profiles and the
  /// log of its nodes are taken from them.
  Care(bool records, bool adds_early, uint32_t modes)
      : bits_((records ? kRecords : 0) | (adds_early ? kAddsEarly : 0)) {
    if ((modes & (gate::kGradCheck | gate::kProfiler | gate::kLog)) != 0) [[unlikely]]
      bits_ |= modes & kWatching;
  }

  /// Whether nodes need more than being run, and leaves more than being added to.
  bool is_for_nodes() const { return (bits_ & (kRecords | kWatching)) != 0; }
  bool is_for_leaves() const { return (bits_ & (kAddsEarly | gate::kProfiler | gate::kLog)) != 0; }

  bool records() const { return (bits_ & kRecords) != 0; }
  bool adds_early() const { return (bits_ & kAddsEarly) != 0; }
  bool checks_gradients() const { return (bits_ & gate::kGradCheck) != 0; }
  /// Whether nodes are ranges of time in a profile.
  bool profiles() const { return (bits_ & gate::kProfiler) != 0; }
  /// Whether nodes are lines of the log.
  bool logs() const { return (bits_ & gate::kLog) != 0; }
  /// Gate bits: which checks.
  uint32_t checks() const { return bits_ & kWatching; }

 private:
  static constexpr uint32_t kWatching =
      gate::kGradCheck | gate::kNanCheck | gate::kAllowInf | gate::kProfiler | gate::kLog;
  static_assert((kWatching & (kRecords | kAddsEarly)) == 0);

  uint32_t bits_ = 0;
};

/// Everything that a caller decides about a run.
struct RunRequest {
  Restriction* restriction = nullptr;  // null: all that is reached runs, all leaves accumulate
  Care care;
  bool releases = true;
  LocationId location = 0;  // of the call

  bool is_restricted() const { return restriction != nullptr; }
};

}  // namespace ebb::autograd
