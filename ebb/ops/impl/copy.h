// ebb/ops/impl/copy.h -- bodies of the ops that copy, convert or overwrite elements.
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/impl/copies.h"

namespace ebb::ops::impl {

inline Tensor without_derivative(const Tensor&, const Tensor& found, std::string_view) {
  return clone(found);
}
inline Tensor amp_cast(const Tensor& input, DType dtype) { return cast(input, dtype); }
/// The values on another device; `input` itself if it is there.
EBB_API Tensor to_device(const Tensor& input, Device device);
/// The same memory without history.
EBB_API Tensor detach(const Tensor& input);

}  // namespace ebb::ops::impl
