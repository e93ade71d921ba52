// python/src/base/numpy_types.cpp -- see numpy_types.h.
#include "python/src/base/numpy_types.h"

namespace ebb::python {
namespace {

struct NumpyTypes {
  PyObject* module = nullptr;
  PyTypeObject* array = nullptr;
  PyTypeObject* scalar = nullptr;
  PyTypeObject* boolean = nullptr;
};
NumpyTypes types;

PyTypeObject* type_in(PyObject* module, const char* name) {
  return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(module, name));
}

/// Whether the types are known. A module that is only half imported counts as not there.
bool look_up() {
  if (types.module != nullptr) return true;
  PyObject* const modules = PyImport_GetModuleDict();  // borrowed
  PyObject* const module = PyDict_GetItemString(modules, "numpy");
  if (module == nullptr) return false;
  NumpyTypes found;
  found.array = type_in(module, "ndarray");
  found.scalar = type_in(module, "generic");
  found.boolean = type_in(module, "bool_");
  if (found.array == nullptr || found.scalar == nullptr || found.boolean == nullptr) {
    PyErr_Clear();
    return false;
  }
  found.module = Py_NewRef(module);
  types = found;
  return true;
}

}  // namespace

bool is_numpy_array(PyObject* object) {
  return look_up() && PyObject_TypeCheck(object, types.array) != 0;
}
bool is_numpy_scalar(PyObject* object) {
  return look_up() && PyObject_TypeCheck(object, types.scalar) != 0;
}
bool is_numpy_bool(PyObject* object) {
  return look_up() && PyObject_TypeCheck(object, types.boolean) != 0;
}

PyObject* numpy_module() {
  if (look_up()) return types.module;
  const Ref imported(PyImport_ImportModule("numpy"));
  if (!look_up()) {
    PyErr_SetString(PyExc_ImportError, "numpy: needs ndarray and generic, got neither");
    throw ErrorSet();
  }
  return types.module;
}

}  // namespace ebb::python
