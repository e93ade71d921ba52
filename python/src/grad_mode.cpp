// python/src/grad_mode.cpp -- context managers and decorators that turn recording on or off.
//
// One C type serves all three: an object holds the mode to set and the modes to put back, one bit
// for each time that it was entered and not left. One spare object is kept per type, so that
// `with no_grad():` allocates nothing.
#include "python/src/grad_mode.h"

#include "ebb/autograd/grad_mode.h"
#include "ebb/core/error.h"
#include "python/src/errors.h"

namespace ebb::python {
namespace {

struct ModeObject {
  PyObject_HEAD uint64_t saved;  // bit 0: the mode before the innermost enter
  uint8_t depth;
  bool enables;
};
constexpr uint8_t kMaxDepth = 64;

struct ModeType {
  PyTypeObject* type = nullptr;
  ModeObject* spare = nullptr;
};
ModeType no_grad_type, enable_grad_type, set_grad_type;

ModeType* entry_of(PyTypeObject* type) {
  if (type == no_grad_type.type) return &no_grad_type;
  if (type == enable_grad_type.type) return &enable_grad_type;
  return type == set_grad_type.type ? &set_grad_type : nullptr;
}

PyObject* make_mode(PyTypeObject* type, bool enables) {
  ModeType* const entry = entry_of(type);
  ModeObject* object = nullptr;
  if (entry != nullptr && entry->spare != nullptr) {
    object = std::exchange(entry->spare, nullptr);
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
  } else {
    object = reinterpret_cast<ModeObject*>(type->tp_alloc(type, 0));
    if (object == nullptr) return nullptr;
  }
  object->saved = 0;
  object->depth = 0;
  object->enables = enables;
  return reinterpret_cast<PyObject*>(object);
}

void dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  ModeType* const entry = entry_of(type);
  if (entry != nullptr && entry->spare == nullptr) {
    entry->spare = reinterpret_cast<ModeObject*>(self);  // keeps its reference to the type
    return;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth == kMaxDepth) {
    PyErr_SetString(error_classes.value, "no_grad: one object can be entered 64 times, got more");
    return nullptr;
  }
  mode->saved = (mode->saved << 1) | (is_grad_enabled() ? 1u : 0u);
  ++mode->depth;
  set_grad_enabled(mode->enables);
  Py_RETURN_NONE;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth == 0) {
    PyErr_SetString(error_classes.value, "no_grad: needs to be entered before it is left");
    return nullptr;
  }
  set_grad_enabled((mode->saved & 1u) != 0);
  mode->saved >>= 1;
  --mode->depth;
  Py_RETURN_NONE;
}

/// As a decorator; the wrapper is written in Python (ebb/autograd/_decorate.py).
PyObject* decorate(PyObject* self, PyObject* function) {
  return guarded([&] {
    const Ref module(PyImport_ImportModule("ebb.autograd._decorate"));
    const bool enables = reinterpret_cast<ModeObject*>(self)->enables;
    return checked(PyObject_CallMethod(module.get(), "run_in_mode", "OO",
                                       enables ? Py_True : Py_False, function));
  });
}
PyObject* call_mode(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* function = nullptr;
  static const char* names[] = {"func", nullptr};
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &function) == 0) {
    return nullptr;
  }
  return decorate(self, function);
}

/// no_grad() makes a context manager, no_grad(function) decorates.
PyObject* make_fixed(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  auto* const wanted = reinterpret_cast<PyTypeObject*>(type);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const bool has_keywords = names != nullptr && PyTuple_GET_SIZE(names) > 0;
  if (count > 1 || has_keywords || (count == 1 && PyCallable_Check(args[0]) == 0)) {
    PyErr_Format(error_classes.dtype, "%s(): needs no argument, or the function to decorate",
                 wanted->tp_name);
    return nullptr;
  }
  PyObject* const mode = make_mode(wanted, wanted == enable_grad_type.type);
  if (mode == nullptr || count == 0) return mode;
  PyObject* const decorated = decorate(mode, args[0]);
  Py_DECREF(mode);
  return decorated;
}

/// set_grad_enabled(mode) acts at once; as a context manager it puts the old mode back.
PyObject* make_set(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  if (PyVectorcall_NARGS(flags) + keywords != 1) {
    PyErr_SetString(error_classes.dtype, "set_grad_enabled(): needs one argument 'mode'");
    return nullptr;
  }
  const int truth = PyObject_IsTrue(args[0]);
  if (truth < 0) return nullptr;
  PyObject* const object = make_mode(reinterpret_cast<PyTypeObject*>(type), truth == 1);
  if (object == nullptr) return nullptr;
  auto* const mode = reinterpret_cast<ModeObject*>(object);
  mode->saved = is_grad_enabled() ? 1u : 0u;
  set_grad_enabled(mode->enables);
  return object;
}

/// The old mode was noted when the object was made.
PyObject* enter_set(PyObject* self, PyObject* none) {
  auto* const mode = reinterpret_cast<ModeObject*>(self);
  if (mode->depth > 0) return enter(self, none);
  mode->depth = 1;
  set_grad_enabled(mode->enables);
  Py_RETURN_NONE;
}

PyObject* query(PyObject*, PyObject*) { return PyBool_FromLong(is_grad_enabled()); }

PyMethodDef kFixedMethods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {},
};
PyMethodDef kSetMethods[] = {
    {"__enter__", enter_set, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {},
};
PyMethodDef kFunctions[] = {
    {"is_grad_enabled", query, METH_NOARGS,
     "is_grad_enabled($module)\n--\n\nReturn whether this thread records operations."},
    {},
};

void add_type(PyObject* module, ModeType& entry, const char* name, const char* doc,
              vectorcallfunc make, PyMethodDef* methods) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_call, as_slot(call_mode)},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  PyType_Spec spec = {name, sizeof(ModeObject), 0, Py_TPFLAGS_DEFAULT, slots};
  entry.type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  // Calls of the type go here, so that no argument tuple is made.
  entry.type->tp_vectorcall = make;
  const char* const short_name = name + sizeof("ebb.") - 1;
  check_status(PyModule_AddObjectRef(module, short_name, reinterpret_cast<PyObject*>(entry.type)));
}

}  // namespace

void add_grad_mode(PyObject* module) {
  add_type(module, no_grad_type, "ebb.no_grad",
           "no_grad()\n--\n\nContext manager and decorator: nothing inside is recorded.",
           make_fixed, kFixedMethods);
  add_type(module, enable_grad_type, "ebb.enable_grad",
           "enable_grad()\n--\n\nContext manager and decorator: recording is on inside.",
           make_fixed, kFixedMethods);
  add_type(module, set_grad_type, "ebb.set_grad_enabled",
           "set_grad_enabled(mode)\n--\n\n"
           "Turn recording on or off, until further notice or for the length of a block.",
           make_set, kSetMethods);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
