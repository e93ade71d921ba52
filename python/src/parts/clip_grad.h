// python/src/parts/clip_grad.h -- bounding gradients, for ebb.nn.utils.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _clip_grad_norm and _clip_grad_value to `module`. Throws ErrorSet.
void add_clip_grad(PyObject* module);

}  // namespace ebb::python
