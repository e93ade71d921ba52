// python/src/calls/overrides.cpp -- finding classes with __ebb_function__, and calling the
// protocol.
#include "python/src/calls/overrides.h"

#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"

namespace ebb::python {

bool detail::overrides_exist = false;

namespace {

thread_local bool is_switched_off = false;

PyObject* protocol_name() {
  static PyObject* const name = checked(PyUnicode_InternFromString("__ebb_function__"));
  return name;
}

/// The function or method that a call without the protocol would have made.
Ref function_of(const char* name, bool is_method) {
  PyObject* const methods = reinterpret_cast<PyObject*>(tensor_type);
  if (is_method && PyObject_HasAttrString(methods, name) != 0) {
    return Ref(PyObject_GetAttrString(methods, name));
  }
  const Ref module(PyImport_ImportModule("ebb._C"));
  if (PyObject_HasAttrString(module.get(), name) != 0) {
    return Ref(PyObject_GetAttrString(module.get(), name));
  }
  const Ref ops(PyObject_GetAttrString(module.get(), "_ops"));
  return Ref(PyObject_GetAttrString(ops.get(), name));
}

Ref positional(const Call& call) {
  const Py_ssize_t shift = call.self != nullptr ? 1 : 0;
  Ref args(PyTuple_New(call.count + shift));
  if (shift != 0) PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t index = 0; index < call.count; ++index) {
    PyTuple_SET_ITEM(args.get(), index + shift, Py_NewRef(call.args[index]));
  }
  return args;
}

Ref keywords(const Call& call) {
  Ref named(PyDict_New());
  const Py_ssize_t count = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  for (Py_ssize_t index = 0; index < count; ++index) {
    check_status(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(call.names, index),
                                call.args[call.count + index]));
  }
  return named;
}

/// _has_override(*objects): has_ebb_function.
PyObject* any_has_override(PyObject*, PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t index = 0; index < count; ++index) {
    if (has_override(args[index])) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

/// _switch_overrides_off(is_off): for this thread; returns what was before.
PyObject* switch_off(PyObject*, PyObject* is_off) {
  const bool before = is_switched_off;
  is_switched_off = is_off == Py_True;
  return PyBool_FromLong(before);
}

PyObject* note_overriding_class(PyObject*, PyObject*) {
  detail::overrides_exist = true;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_has_override", as_method(any_has_override), METH_FASTCALL, nullptr},
    {"_switch_overrides_off", switch_off, METH_O, nullptr},
    {"_note_overriding_class", note_overriding_class, METH_NOARGS, nullptr},
    {},
};

}  // namespace

bool has_override(PyObject* object) {
  if (is_exact_tensor(object) || is_switched_off) return false;
  const bool is_subclass = PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0;
  if (is_subclass && !detail::overrides_exist) return false;
  PyObject* const found = _PyType_Lookup(Py_TYPE(object), protocol_name());  // borrowed
  if (found == nullptr || found == Py_None) return false;
  // Subclasses inherit Tensor's own, which is what super() calls and no wish to take part.
  return !is_subclass || found != _PyType_Lookup(tensor_type, protocol_name());
}

bool holds_override(PyObject* object) {
  if (has_override(object)) return true;
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(object); ++index) {
    if (has_override(PySequence_Fast_GET_ITEM(object, index))) return true;
  }
  return false;
}

void look_for_overrides(const Call& call) {
  const Py_ssize_t named = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  if (call.self != nullptr && has_override(call.self)) throw CallsOverride();
  for (Py_ssize_t index = 0; index < call.count + named; ++index) {
    if (holds_override(call.args[index])) throw CallsOverride();
  }
}

PyObject* call_override(const char* name, const Call& call) {
  const Ref module(PyImport_ImportModule("ebb.overrides"));
  const Ref dispatch(PyObject_GetAttrString(module.get(), "_dispatch"));
  const Ref function = function_of(name, call.self != nullptr);
  const Ref args = positional(call), named = keywords(call);
  return checked(PyObject_CallFunctionObjArgs(dispatch.get(), function.get(), args.get(),
                                              named.get(), nullptr));
}

void add_overrides(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
