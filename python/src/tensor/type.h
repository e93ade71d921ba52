// python/src/tensor/type.h -- the type ebb.Tensor.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Makes the type and adds it to `module`. Throws ErrorSet.
void add_tensor_type(PyObject* module);

}  // namespace ebb::python
