// python/src/autograd/node_type.h -- the type ebb.autograd.Node.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Makes the type and adds it to `module`. Throws ErrorSet.
void add_node_type(PyObject* module);

}  // namespace ebb::python
