// ebb/devices/launch/convolution.h -- a convolution as libraries of a back end take it.
#pragma once

#include <functional>

#include "ebb/core/base/dtype.h"
#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// Which of the three tensors is computed from the other two.
enum class ConvPass : uint8_t { output, input, weight };

/// See kernels::ConvShape. All three are dense and of one dtype; sums of half types are in float32.
struct Convolution {
  ConvPass pass = ConvPass::output;
  const kernels::ConvShape* shape = nullptr;
  DType dtype = DType::float32;
  void *input = nullptr, *weight = nullptr, *output = nullptr;
  /// Called before the work is queued, once it is sure that it will be: writes what the result is
  /// added to. Empty: the result is written over whatever is there.
  std::function<void()> write_first;
};

}  // namespace ebb::devices
