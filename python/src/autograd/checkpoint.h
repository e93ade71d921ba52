// python/src/autograd/checkpoint.h -- the compiled part of ebb.utils.checkpoint.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _checkpoint() to `module`. Throws ErrorSet.
void add_checkpoint(PyObject* module);

}  // namespace ebb::python
