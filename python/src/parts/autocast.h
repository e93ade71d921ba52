// python/src/parts/autocast.h -- mixed precision for ebb.amp.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _enter_autocast() and the other functions of autocast to `module`. Throws ErrorSet.
void add_autocast(PyObject* module);

}  // namespace ebb::python
