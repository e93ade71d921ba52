// python/src/autograd/saved_hooks.h -- saved-tensor hooks that are Python functions.
#pragma once

#include <memory>

#include "ebb/autograd/history/saved_hooks.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// The hooks that two Python callables make. Throws DTypeError unless they can be called.
std::shared_ptr<SavedTensorsHooks> python_hooks(PyObject* pack, PyObject* unpack);

/// Adds what ebb.autograd.graph needs to `module`, under private names. Throws ErrorSet.
void add_saved_hooks(PyObject* module);

}  // namespace ebb::python
