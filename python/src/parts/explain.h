// python/src/parts/explain.h -- why an input gets a gradient or none, as tuples for Python.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _explain() and what belongs to it to `module`. Throws ErrorSet.
void add_explain(PyObject* module);

}  // namespace ebb::python
