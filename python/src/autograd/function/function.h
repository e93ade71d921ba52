// python/src/autograd/function/function.h -- ebb.autograd.Function: operations with the user's own
// derivative.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Makes the types Function and FunctionCtx and adds them to `module`. Throws ErrorSet.
void add_function(PyObject* module);

}  // namespace ebb::python
