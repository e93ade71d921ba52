// python/src/parts/init.h -- starting values that are computed in C++, for ebb.nn.init.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _init_orthogonal and _init_trunc_normal to `module`. Throws ErrorSet.
void add_init(PyObject* module);

}  // namespace ebb::python
