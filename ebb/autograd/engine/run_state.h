// ebb/autograd/engine/run_state.h -- the vectors of a run, which its thread keeps for the next one.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/undo.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Where a run starts: a gradient and the edge that it goes into.
struct Root {
  NodePtr<Node> node;
  uint32_t index = 0;
  Tensor seed;
};

/// A gradient that waits for the end of the run, and is prepared there.
struct StagedGradient {
  AccumulateGrad* leaf;
  PreparedGradient prepared;

  StagedGradient(AccumulateGrad& leaf, Tensor&& grad)
      : leaf(&leaf), prepared{.grad = std::move(grad)} {}
};

/// The devices and streams that nodes of a run name, each once.
struct RunPlaces {
  std::vector<Device> devices;
  std::vector<StreamSet> streams;

  void add_device(Device device) {
    if (!is_among(devices, device)) devices.push_back(device);
  }
  void add_streams(StreamSet set) {
    if (!is_among(streams, set)) streams.push_back(set);
  }
  void clear() {
    devices.clear();
    streams.clear();
  }

 private:
  template <typename T>
  static bool is_among(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
};

/// The vectors of a run. A thread keeps them for its next run: growing them anew costs page faults.
struct RunBuffers {
  std::vector<Root> roots;
  std::vector<Node*> stack;
  std::vector<Node*> heap;
  std::vector<StagedGradient> staged;
  std::vector<StagedGradient> kept;  // by a lane of several, for when these part (lane.h)
  Undo undo;                         // of what was added before
  RunPlaces places;                  // filled only if there are plug-ins
  Pacer pacer;
  uint32_t level = 0;  // of runs inside each other on this thread (nesting.h)

  void add_root(const Edge& edge, Tensor seed) {
    roots.push_back({NodePtr<Node>::share(edge.node), edge.index, std::move(seed)});
  }
};

/// The thread's buffers, or fresh ones for a run inside another.
class BufferClaim {
 public:
  BufferClaim();
  ~BufferClaim();
  BufferClaim(const BufferClaim&) = delete;
  BufferClaim& operator=(const BufferClaim&) = delete;
  RunBuffers& operator*() const { return *buffers_; }
  RunBuffers* operator->() const { return buffers_; }

 private:
  RunBuffers* buffers_;
};

}  // namespace ebb::autograd
