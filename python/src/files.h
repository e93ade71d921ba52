// python/src/files.h -- tensors in files, data sets and parameters, for python/ebb.
#pragma once

#include "python/src/py.h"

namespace ebb::python {

/// Adds _save(), _load(), _load_digits() and _make_parameter() to `module`. Throws ErrorSet.
void add_files(PyObject* module);

}  // namespace ebb::python
