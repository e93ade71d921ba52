// ebb/autograd/history/origin.h -- why a tensor has no history: four bytes, kept where history
// would be.
//
// A result that is not recorded although an operand wanted a gradient remembers the reason and the
// place; what is computed from it inherits both. Asking such a tensor for a gradient then names the
// line that cut the graph.
#pragma once

#include <cstdint>
#include <string>

#include "ebb/core/base/location.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

enum class Cut : uint8_t { never_asked, no_grad, detached, not_differentiable };

/// Reason and place in one word: 2 bits and 30 bits.
using Origin = uint32_t;

constexpr Origin make_origin(Cut cut, LocationId location) {
  return (static_cast<uint32_t>(cut) << 30) | (location & 0x3fffffffu);
}

/// The origin of a tensor without history, 0 if there is nothing to tell.
inline Origin origin_of(const Tensor& tensor) {
  const TensorImpl* const impl = tensor.impl();
  return impl == nullptr || impl->producer != nullptr ? 0 : impl->output_index;
}

inline void set_origin(const Tensor& tensor, Origin origin) {
  if (tensor.impl()->producer == nullptr) tensor.impl()->output_index = origin;
}

/// The place that an origin names, 0 if it is not known any more.
EBB_API LocationId place_of(Origin origin);
/// "it was made at train.py:7 under no_grad", or "it was never asked for one".
EBB_API std::string explain_origin(const Tensor& tensor);

}  // namespace ebb::autograd
