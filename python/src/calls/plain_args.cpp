// python/src/calls/plain_args.cpp -- see plain_args.h.
#include "python/src/calls/plain_args.h"

#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {

void check_count(const char* op, Py_ssize_t got, Py_ssize_t needed) {
  if (got != needed) {
    throw DTypeError(str(op, ": needs ", needed, " arguments, got ", got));
  }
}

double to_number(const char* op, const char* name, PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw DTypeError(str(op, ": needs a number for ", name, ", got ", type_name(object)));
  }
  return value;
}

bool to_truth(PyObject* object) {
  const int value = PyObject_IsTrue(object);
  check_status(value);
  return value != 0;
}

std::vector<Tensor> to_tensors(const char* op, PyObject* list) {
  const Ref items(PySequence_Tuple(list));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
    if (!is_tensor(item)) {
      throw DTypeError(str(op, ": needs Tensors, got ", type_name(item), " as parameter ", i));
    }
    tensors.push_back(tensor_of(item));
  }
  return tensors;
}

}  // namespace ebb::python
