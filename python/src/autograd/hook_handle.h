// python/src/autograd/hook_handle.h -- RemovableHandle: what registering a hook returns.
#pragma once

#include <vector>

#include "ebb/autograd/hooks/hooks.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// A new object that removes the hooks. Throws ErrorSet.
PyObject* make_handle(std::vector<autograd::HookHandle> handles);

/// Adds the type to `module`. Throws ErrorSet.
void add_handle_type(PyObject* module);

}  // namespace ebb::python
