// python/src/calls/plain_args.h -- arguments of hand-written functions that Python code of ours
// calls.
//
// `op` opens the messages. Ops of the table read theirs through args.h.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// Throws DTypeError unless `got` arguments came.
void check_count(const char* op, Py_ssize_t got, Py_ssize_t needed);
/// Anything with __float__. Throws DTypeError.
double to_number(const char* op, const char* name, PyObject* object);
/// Whether Python takes the object for true. Throws ErrorSet.
bool to_truth(PyObject* object);
/// A list, tuple or other sequence of Tensors. Throws DTypeError or ErrorSet.
std::vector<Tensor> to_tensors(const char* op, PyObject* list);

}  // namespace ebb::python
