// ebb/autograd/engine/places.h -- what callers of backward() and grad() name, checked and made into
// edges.
#pragma once

#include <span>
#include <vector>

#include "ebb/autograd/engine/place.h"
#include "ebb/autograd/engine/run_request.h"
#include "ebb/autograd/engine/run_state.h"

namespace ebb::autograd {

/// A list of tensors, or of places.
class Places {
 public:
  Places(std::span<const Tensor> tensors)  // NOLINT: either is one
      : tensors_(tensors.data()), size_(tensors.size()) {}
  Places(std::span<const Place> places)  // NOLINT: either is one
      : places_(places.data()), size_(places.size()) {}
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Undefined for a place alone.
  const Tensor& tensor(size_t index) const {
    return places_ != nullptr ? places_[index].tensor : tensors_[index];
  }
  Edge edge(size_t index) const {
    return places_ != nullptr ? places_[index].edge() : gradient_edge(tensors_[index]);
  }

 private:
  const Tensor* tensors_ = nullptr;
  const Place* places_ = nullptr;
  size_t size_ = 0;
};

// `call` is "backward" or "grad", for messages, which name the position.

/// Checks where a run starts; adds each with its seed, a given one or a one. `checks`: gate bits
/// that say whether values must be finite, else 0.
void add_roots(const char* call, const Places& roots, std::span<const Tensor> seeds,
               uint32_t checks, RunBuffers& buffers);
/// Checks what gradients are asked for; adds a capture for each.
void add_inputs(const Places& inputs, Restriction& restriction);
/// Checks what backward() is restricted to. Leaves accumulate as they always do. Other tensors get
/// a capture each and are appended to `results`.
void add_targets(const Places& targets, Restriction& restriction, std::vector<Tensor>& results);
/// Cuts edges for this run. A tensor that requires no gradient has nothing to cut.
void add_cuts(const Places& cuts, Restriction& restriction);

}  // namespace ebb::autograd
