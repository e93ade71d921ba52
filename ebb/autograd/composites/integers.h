// ebb/autograd/composites/integers.h -- integers of a tensor for code on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// All elements in order; waits for the device that holds them.
inline std::vector<int64_t> integers_of(const Tensor& tensor) {
  const Tensor held = contiguous(cast(to_device(tensor, Device{}), DType::int64));
  const auto* const first = held.data<int64_t>();
  return {first, first + held.numel()};
}

}  // namespace ebb::autograd
