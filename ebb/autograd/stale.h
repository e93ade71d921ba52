// ebb/autograd/stale.h -- whether a saved value was written to since it was saved.
#pragma once

#include <cstdint>

#include "ebb/autograd/node.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Whether a write after `version` of its memory may have changed elements of `value`.
bool is_stale(const TensorImpl& value, uint32_t version);

/// Throws AutogradError if is_stale(): what `owner` saved as `name`, which op wrote it, and where.
void refuse_stale(const Node& owner, const char* name, const TensorImpl& value, uint32_t version);

}  // namespace ebb::autograd
