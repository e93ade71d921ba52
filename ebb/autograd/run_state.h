// ebb/autograd/run_state.h -- the vectors of a run, which its thread keeps for the next one.
#pragma once

#include <utility>
#include <vector>

#include "ebb/autograd/meta.h"
#include "ebb/autograd/node.h"
#include "ebb/autograd/pacer.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Where a run starts: a gradient and the edge that it goes into.
struct Root {
  NodePtr<Node> node;
  uint32_t index = 0;
  Tensor seed;
};

/// A gradient that waits for the end of the run.
struct StagedGradient {
  AccumulateGrad* leaf;
  Tensor grad;
};

/// The vectors of a run. A thread keeps them for its next run: growing them anew costs page faults.
struct RunBuffers {
  std::vector<Root> roots;
  std::vector<Node*> stack;
  std::vector<Node*> heap;
  std::vector<StagedGradient> staged;
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
