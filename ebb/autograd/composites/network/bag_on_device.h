// ebb/autograd/composites/network/bag_on_device.h -- embedding_bag on a device, without waiting for
// it.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

enum class BagMode : uint8_t { sum, mean, max };

/// What embedding_bag() was given, all on one device but for offsets: those of the host, and empty
/// ones, have been looked at.
struct BagCall {
  const Tensor& weight;
  const Tensor& indices;
  const Tensor& offsets;  // undefined: each row of indices is a bag
  const Tensor& per_sample_weights;
  BagMode mode;
  bool include_last_offset;
  int64_t padding_idx;  // negative: none
  bool sparse;
};

/// The sum, mean or maximum of each bag. Offsets on a device that do not begin with 0, fall or pass
/// the last index are a ValueError at the next wait for it.
Tensor embedding_bag_on_device(const BagCall& call);

}  // namespace ebb::autograd
