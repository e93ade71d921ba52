// python/src/autograd/run_queries.h -- questions about the run that a hook is in, and callbacks for
// its end.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the functions to `module`. Throws ErrorSet.
void add_run_queries(PyObject* module);

}  // namespace ebb::python
