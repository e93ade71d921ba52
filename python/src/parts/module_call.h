// python/src/parts/module_call.h -- calling a module: its forward(), noted as where ops belong.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the type _ModuleCall, the base of nn.Module, to `module`. Throws ErrorSet.
void add_module_call(PyObject* module);

}  // namespace ebb::python
