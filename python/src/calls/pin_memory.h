// python/src/calls/pin_memory.h -- tensors in pinned memory: Tensor.pin_memory(), and
// pin_memory=True of functions that make tensors.
#pragma once

#include <optional>

#include "ebb/core/device/device.h"
#include "ebb/core/tensor/tensor.h"
#include "python/src/calls/call.h"

namespace ebb::python {

/// The elements in pinned memory, recorded as a copy; the tensor itself where that is so already,
/// where no device has such memory, and if it is sparse. Throws ValueError for a tensor of a
/// device.
Tensor pinned(const Tensor& tensor, std::optional<Device> device);

/// The same of a new leaf, which stays one.
Tensor pinned_leaf(const Tensor& leaf);

/// What a call that makes a leaf returned; in pinned memory if the call says pin_memory=True and
/// has no `out`. Takes the reference over.
PyObject* pinned_if_asked(const Call& call, PyObject* made);

}  // namespace ebb::python
