// python/src/base/errors.h -- the Python class of each C++ exception, and how to raise them.
//
// Each class derives from its standard class and from ebb.Error, which is a RuntimeError: code
// written for either still catches it. The classes are made once, when the module is loaded.
#pragma once

#include <string>

#include "python/src/base/py.h"

namespace ebb::python {

/// The classes, by the C++ type that they stand for.
struct ErrorClasses {
  PyObject* base = nullptr;
  PyObject* shape = nullptr;
  PyObject* value = nullptr;
  PyObject* dtype = nullptr;
  PyObject* index = nullptr;
  PyObject* autograd = nullptr;
  PyObject* non_finite = nullptr;
  PyObject* not_implemented = nullptr;
  PyObject* out_of_memory = nullptr;
  PyObject* io = nullptr;
  PyObject* device = nullptr;
  PyObject* internal = nullptr;
  PyObject* stop_recomputation = nullptr;  // no error: see autograd/checkpoint.cpp
};
extern ErrorClasses error_classes;

/// Makes the classes and adds them to `module`. Throws ErrorSet.
void add_error_classes(PyObject* module);

/// "'str'", "numpy.ndarray" ...: what kind of object a caller passed, for messages.
std::string type_name(PyObject* object);

}  // namespace ebb::python
