// python/src/autograd/node_object.h -- the Python object of a recorded op: what Tensor.grad_fn
// returns.
//
// A node has at most one Python object at a time, found through a table, so that `is` works. The
// object owns a count of the node. Everything here needs the GIL.
#pragma once

#include "ebb/autograd/history/node.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// The Python object of a node, as a new reference; None for null. Throws ErrorSet.
PyObject* wrap_node(autograd::Node* node);

bool is_node(PyObject* object);
autograd::Node& node_of(PyObject* object);

/// Adds the type Node to `module`. Throws ErrorSet.
void add_node_type(PyObject* module);

}  // namespace ebb::python
