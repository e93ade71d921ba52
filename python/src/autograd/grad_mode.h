// python/src/autograd/grad_mode.h -- no_grad, enable_grad and set_grad_enabled.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the three types and is_grad_enabled() to `module`. Throws ErrorSet.
void add_grad_mode(PyObject* module);

}  // namespace ebb::python
