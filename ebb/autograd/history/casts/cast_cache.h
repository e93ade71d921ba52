// ebb/autograd/history/casts/cast_cache.h -- casts of weights, kept for the length of an autocast
// block.
#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Casts of leaves that require a gradient: a weight that several ops read is cast once, until it
/// is written to, shows other memory or gets another accumulator. Threads of one block share it.
/// Of a large one nothing is kept before its second use: most weights have one.
class CastCache {
 public:
  struct Found {
    Tensor cast;
    bool is_kept;
  };
  Found get(const Tensor& leaf, DType dtype);
  void clear() noexcept;

 private:
  struct Entry {
    Tensor leaf;  // held, so that no other tensor gets its address
    Tensor seen;  // its memory when it was cast, held for the same reason
    Tensor cast;  // none after the first use of a large leaf
    DType dtype = DType::float32;
    uint32_t version = 0;
    const Producer* producer = nullptr;  // where the gradient of the cast goes; held by its history

    bool holds_for(const Tensor& now) const;
  };
  /// The cast, if it is kept and serves, and whether one was made before.
  std::pair<Tensor, bool> find(const Tensor& leaf, DType dtype);

  std::mutex mutex_;
  std::unordered_map<const TensorImpl*, Entry> casts_;
};

}  // namespace ebb::autograd
