// python/src/autograd/jvp.h -- forward-mode rules by name, for the tests of the op table.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _jvp() to `module`. Throws ErrorSet.
void add_jvp(PyObject* module);

}  // namespace ebb::python
