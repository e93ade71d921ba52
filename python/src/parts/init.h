// python/src/parts/init.h -- starting values that are computed in C++, for ebb.nn.init.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _init, _init_kaiming and _init_gain to `module`. Throws ErrorSet.
void add_init(PyObject* module);

}  // namespace ebb::python
