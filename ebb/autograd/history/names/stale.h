// ebb/autograd/history/names/stale.h -- whether a saved value was written to since it was saved.
#pragma once

#include <cstdint>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Whether a write after `version` of its memory may have changed elements of `value`.
bool is_stale(const TensorImpl& value, uint32_t version);

/// What messages say of a saved value: who saved it, as what, and where it came from.
struct SavedAs {
  const Node& owner;
  const char* role;
  Edge place;  // in the graph; no node if unknown
};
/// Throws AutogradError if is_stale(): what was saved where, which op wrote it, and where.
void refuse_stale(const SavedAs& saved, const TensorImpl& value, uint32_t version);
/// The same of a value that `saver` saved for whatever op.
void refuse_stale(const char* saver, const TensorImpl& value, uint32_t version);

}  // namespace ebb::autograd
