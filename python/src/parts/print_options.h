// python/src/parts/print_options.h -- how tensors are written, for python/ebb/_tensor/printing.py.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _set_print_options() and _print_options() to `module`. Throws ErrorSet.
void add_print_options(PyObject* module);

}  // namespace ebb::python
