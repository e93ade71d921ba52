// python/src/autograd/hooks.h -- Python functions as hooks of tensors, nodes and runs.
#pragma once

#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

// Methods of Tensor and Node; each returns a RemovableHandle.
PyObject* tensor_register_hook(PyObject* self, PyObject* hook);
PyObject* tensor_register_post_accumulate_hook(PyObject* self, PyObject* hook);
PyObject* node_register_hook(PyObject* self, PyObject* hook);
PyObject* node_register_prehook(PyObject* self, PyObject* hook);

/// Shows Python's collector the functions that only `node` keeps alive, and those of the nodes that
/// only it keeps alive. `owners`: how many of its owners the caller speaks for.
int visit_hooks(autograd::Node* node, uint32_t owners, visitproc visit, void* arg);
/// Gives the same functions up.
void clear_hooks(autograd::Node* node, uint32_t owners);

/// Adds the type RemovableHandle and the functions of ebb.autograd.graph to `module`. Throws
/// ErrorSet.
void add_hooks(PyObject* module);

}  // namespace ebb::python
