// python/src/autograd/forward_mode.h -- levels and dual tensors, for ebb.autograd.forward_ad.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _enter_dual_level() and the like to `module`. Throws ErrorSet.
void add_forward_mode(PyObject* module);

}  // namespace ebb::python
