// python/src/autograd/gradcheck.h -- ebb/testing/gradcheck.h for ebb.autograd.gradcheck.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _gradcheck and _gradgradcheck to `module`. Throws ErrorSet.
void add_gradcheck(PyObject* module);

}  // namespace ebb::python
