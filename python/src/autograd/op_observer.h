// python/src/autograd/op_observer.h -- Python functions that are shown each op of a thread.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _push_op_observer() to `module`; _pop_op_observer() takes it away. Throws ErrorSet.
void add_op_observer(PyObject* module);

}  // namespace ebb::python
