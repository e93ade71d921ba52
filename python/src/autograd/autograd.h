// python/src/autograd/autograd.h -- backward() and grad() as Python sees them.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Tensor.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None).
PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);

/// Adds backward() and grad() to `module`. Throws ErrorSet.
void add_autograd(PyObject* module);

}  // namespace ebb::python
