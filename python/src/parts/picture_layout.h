// python/src/parts/picture_layout.h -- the layout of pictures, and the search for loops.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _lay_out() and _find_loops() to `module`. Throws ErrorSet.
void add_picture_layout(PyObject* module);

}  // namespace ebb::python
