// python/src/autograd/engine_threads.h -- threads of a backward pass, and Ctrl-C during one.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the switch for parallel backward to `module`, and lets runs on this thread, the
/// interpreter's main one, look for signals. Throws ErrorSet.
void add_engine_threads(PyObject* module);

}  // namespace ebb::python
