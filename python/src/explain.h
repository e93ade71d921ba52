// python/src/explain.h -- why an input gets a gradient or none, as tuples for Python.
#pragma once

#include "python/src/py.h"

namespace ebb::python {

/// Adds _explain() and what belongs to it to `module`. Throws ErrorSet.
void add_explain(PyObject* module);

}  // namespace ebb::python
