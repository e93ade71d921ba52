// python/src/parts/files.h -- tensors in files and data sets, for python/ebb.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _save(), _load(), _load_digits() and the other functions of files.cpp to `module`. Throws
/// ErrorSet.
void add_files(PyObject* module);

}  // namespace ebb::python
