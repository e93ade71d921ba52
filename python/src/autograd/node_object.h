// python/src/autograd/node_object.h -- the Python object of a recorded op: what Tensor.grad_fn
// returns.
//
// A node has at most one Python object at a time, found through a table, so that `is` works. The
// object owns a count of the node. Its type is a subtype of Node that is named after the op, as
// PyTorch names it ("MulBackward0"); it is made when Python first asks for such a node, and kept.
// Everything here needs the GIL.
#pragma once

#include "ebb/autograd/history/node.h"
#include "python/src/base/py.h"

namespace ebb::python {

struct NodeObject {
  PyObject_HEAD autograd::Node* node;  // counted
  PyObject* metadata;
  PyObject* weaklist;
};

extern PyTypeObject* node_type;  // the base of all; made by node_type.cpp

inline bool is_node(PyObject* object) { return PyType_IsSubtype(Py_TYPE(object), node_type) != 0; }
/// The node of an object for which is_node() holds.
inline autograd::Node& node_of(PyObject* object) {
  return *reinterpret_cast<NodeObject*>(object)->node;
}

/// The Python object of a node, as a new reference; None for null. Throws ErrorSet.
PyObject* wrap_node(autograd::Node* node);
/// tp_dealloc.
void dealloc_node(PyObject* self);

}  // namespace ebb::python
