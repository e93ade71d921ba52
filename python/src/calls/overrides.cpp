// python/src/calls/overrides.cpp -- finding classes with __ebb_function__, and calling the
// protocol.
#include "python/src/calls/overrides.h"

#include <cstring>
#include <string>
#include <utility>

#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"

namespace ebb::python {

bool detail::overrides_exist = false;
thread_local constinit CalledAs::Names CalledAs::now_{nullptr, nullptr};

const char* CalledAs::name_of(const char* own) {
  const bool is_alias = now_.own != nullptr && std::strcmp(now_.own, own) == 0;
  return is_alias ? now_.name : own;
}

namespace {

thread_local bool is_switched_off = false;
bool keeps_subclasses = false;          // those without the protocol too, as in PyTorch
PyObject* disabled_override = nullptr;  // the protocol of classes that take no part

/// What a class has under a name; null for nothing, and of classes that take no part.
PyObject* wish_of(PyObject* object, PyObject* name) {
  PyObject* const found = _PyType_Lookup(Py_TYPE(object), name);  // borrowed
  return found == Py_None || found == disabled_override ? nullptr : found;
}

PyObject* interned(const char* name) { return checked(PyUnicode_InternFromString(name)); }
PyObject* ebb_wish(PyObject* object) {
  static PyObject* const name = interned("__ebb_function__");
  return wish_of(object, name);
}
/// PyTorch's own tensors, which have __torch_dispatch__ too, know none of ebb's functions.
PyObject* second_wish(PyObject* object) {
  static PyObject* const name = interned("__torch_function__");
  static PyObject* const inner_name = interned("__torch_dispatch__");
  PyObject* const found = wish_of(object, name);
  if (found == nullptr || _PyType_Lookup(Py_TYPE(object), inner_name) == nullptr) return found;
  return PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0 ? found : nullptr;
}
PyObject* tensors_own(const char* name) {
  return checked(PyDict_GetItemString(tensor_type->tp_dict, name));
}

bool asks_by_second_name(PyObject* object) {
  if (is_exact_tensor(object)) return false;
  const bool is_subclass = PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0;
  if (is_subclass && !detail::overrides_exist) return false;
  PyObject* const found = second_wish(object);
  return found != nullptr && !(is_subclass && found == tensors_own("__torch_function__"));
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
  if (const char* const dot = std::strchr(name, '.'); dot != nullptr) {  // linalg.inv
    const Ref space(PyImport_ImportModule(str("ebb.", std::string(name, dot)).c_str()));
    return Ref(PyObject_GetAttrString(space.get(), dot + 1));
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

PyObject* keep_subclasses(PyObject*, PyObject* is_on) {
  keeps_subclasses = is_on == Py_True;
  Py_RETURN_NONE;
}

/// _disabled_override(func, types, args=(), kwargs=None): calls func as if no class took part.
PyObject* call_undisturbed(PyObject*, PyObject* args) {
  PyObject *function, *types, *given = nullptr, *named = Py_None;
  if (PyArg_ParseTuple(args, "OO|O!O", &function, &types, &PyTuple_Type, &given, &named) == 0) {
    return nullptr;
  }
  if (named != Py_None && PyDict_Check(named) == 0) {
    PyErr_Format(PyExc_TypeError, "__torch_function__: needs a dict of keywords, got %.100s",
                 Py_TYPE(named)->tp_name);
    return nullptr;
  }
  PyObject* const empty = given == nullptr ? PyTuple_New(0) : Py_NewRef(given);
  const bool before = std::exchange(is_switched_off, true);
  PyObject* const made = PyObject_Call(function, empty, named == Py_None ? nullptr : named);
  is_switched_off = before;
  Py_DECREF(empty);
  return made;
}

PyMethodDef kFunctions[] = {
    {"_keep_subclasses", keep_subclasses, METH_O, nullptr},
    {"_disabled_override", call_undisturbed, METH_VARARGS, nullptr},
    {"_has_override", as_method(any_has_override), METH_FASTCALL, nullptr},
    {"_switch_overrides_off", switch_off, METH_O, nullptr},
    {"_note_overriding_class", note_overriding_class, METH_NOARGS, nullptr},
    {},
};

}  // namespace

bool has_override(PyObject* object) {
  if (is_exact_tensor(object) || is_switched_off) return false;
  if (PyType_IsSubtype(Py_TYPE(object), tensor_type) == 0) {
    return ebb_wish(object) != nullptr || second_wish(object) != nullptr;
  }
  if (!detail::overrides_exist) return false;
  PyObject* const found = ebb_wish(object);
  // Subclasses inherit Tensor's own, which is what super() calls and no wish to take part.
  return found != nullptr && (keeps_subclasses || found != tensors_own("__ebb_function__"));
}

bool holds_override(PyObject* object) {
  if (has_override(object)) return true;
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(object); ++index) {
    if (has_override(PySequence_Fast_GET_ITEM(object, index))) return true;
  }
  return false;
}

bool asks_by_second_name(PyObject* const* args, Py_ssize_t count) {
  if (is_switched_off) return false;
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyObject* const object = args[index];
    if (asks_by_second_name(object)) return true;
    if (!PyTuple_Check(object) && !PyList_Check(object)) continue;
    for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(object); ++at) {
      if (asks_by_second_name(PySequence_Fast_GET_ITEM(object, at))) return true;
    }
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
  const Ref function = function_of(CalledAs::name_of(name), call.self != nullptr);
  const Ref args = positional(call), named = keywords(call);
  return checked(PyObject_CallFunctionObjArgs(dispatch.get(), function.get(), args.get(),
                                              named.get(), nullptr));
}

void add_overrides(PyObject* module) {
  check_status(PyModule_AddFunctions(module, kFunctions));
  disabled_override = checked(PyObject_GetAttrString(module, "_disabled_override"));
}

}  // namespace ebb::python
