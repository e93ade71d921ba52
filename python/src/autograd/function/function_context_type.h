// python/src/autograd/function/function_context_type.h -- the type of ctx.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Makes the type and adds it to `module`. Throws ErrorSet.
void add_context_type(PyObject* module);

}  // namespace ebb::python
