// python/src/autograd/saved_values.h -- what a node saved, as attributes of its Python object.
//
// `node.saved_input` is the value, `node._raw_saved_input` a handle to it. Names are those of the
// op's parameters and results; `self` stands for `input` and `result` for `out`, as in PyTorch.
#pragma once

#include "ebb/autograd/history/node.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// A saved number, list or name as a Python object: a new reference. Throws ErrorSet.
PyObject* attribute_object(const autograd::SavedAttribute& value);

/// tp_getattro of Node: generic attributes first, then saved_..., _saved_... and _raw_saved_....
PyObject* node_attribute(PyObject* self, PyObject* name);

// Methods and attributes of Node.
PyObject* node_dir(PyObject* self, PyObject*);
PyObject* node_list_saved(PyObject* self, PyObject*);
PyObject* node_saved_bytes(PyObject* self, void*);

/// Adds the type SavedTensor (the raw handle), _saved_bytes() and _increment_version() to `module`.
/// Throws ErrorSet.
void add_saved_values(PyObject* module);

}  // namespace ebb::python
