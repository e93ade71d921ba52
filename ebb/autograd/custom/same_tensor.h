// ebb/autograd/custom/same_tensor.h -- finds the very same tensor in a list.
#pragma once

#include <span>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// The position of the very same tensor in a list, or -1, as for no tensor.
inline int position_of(std::span<const Tensor> tensors, const Tensor& tensor) {
  for (size_t index = 0; index < tensors.size(); ++index) {
    if (tensor.defined() && tensors[index].is_same(tensor)) return static_cast<int>(index);
  }
  return -1;
}
inline bool contains(std::span<const Tensor> tensors, const Tensor& tensor) {
  return position_of(tensors, tensor) >= 0;
}

}  // namespace ebb::autograd
