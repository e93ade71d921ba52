// python/src/tensor/slots.h -- the parts that the Tensor type is put together from.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

// methods.cpp: methods written by hand, followed by the generated ones.
std::vector<PyMethodDef> tensor_methods();
// attributes.cpp
std::vector<PyGetSetDef> tensor_attributes();
PyObject* tensor_repr(PyObject* self);
// new.cpp: ebb.Tensor(...), and the same memory with its history under another object
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
Tensor alias_of(const Tensor& tensor);
// generated: + - * / @ and the like, comparisons
void append_operator_slots(std::vector<PyType_Slot>& slots);
// number.cpp: bool(), int(), float()
void append_number_slots(std::vector<PyType_Slot>& slots);
// index.cpp: x[...], x[...] = y, len(), iteration
void append_index_slots(std::vector<PyType_Slot>& slots);
// numpy.cpp: the buffer protocol
void append_buffer_slots(std::vector<PyType_Slot>& slots);

}  // namespace ebb::python
