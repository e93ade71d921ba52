// ebb/ops/random_part.h -- the part of the random sequence that a kernel draws from.
#pragma once

#include <cstdint>

#include "ebb/core/base/random.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::ops {

/// The next `counters` numbers of default_generator(), for a kernel that fills `target`. Tensors on
/// meta draw none: a model that is made there first changes no other random number.
inline RandomState random_part(const Tensor& target, int64_t counters) {
  if (is_meta(target)) return {};
  return default_generator().reserve(static_cast<uint64_t>(counters));
}
inline RandomState random_part(const Tensor& target) { return random_part(target, target.numel()); }

}  // namespace ebb::ops
