// python/src/profiler.h -- starting and stopping a profile, and ranges of the program's own.
#pragma once

#include "python/src/py.h"

namespace ebb::python {

/// Adds _start_profile(), _stop_profile(), _open_range() and _close_range() to `module`. Throws
/// ErrorSet.
void add_profiler(PyObject* module);

}  // namespace ebb::python
