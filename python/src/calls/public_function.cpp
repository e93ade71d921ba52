// python/src/calls/public_function.cpp -- see public_function.h.
#include "python/src/calls/public_function.h"

#include <structmember.h>

#include <cstddef>

#include "python/src/base/location.h"
#include "python/src/calls/overrides.h"

namespace ebb::python {
namespace {

struct PublicFunction {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* label;
  bool is_getter;  // its errors matter to hasattr(), wherever that is called
  bool asks;       // classes that take part under PyTorch's name
  PyObject* weaklist;
};

PyObject* explainer = nullptr;

PublicFunction* downcast(PyObject* self) { return reinterpret_cast<PublicFunction*>(self); }

PyObject* ask_explainer(const PublicFunction* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* names, PyObject* error) {
  const Ref given(PyTuple_New(count));
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyTuple_SET_ITEM(given.get(), index, Py_NewRef(args[index]));
  }
  const Ref named(PyDict_New());
  for (Py_ssize_t index = 0; names != nullptr && index < PyTuple_GET_SIZE(names); ++index) {
    check_status(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, index), args[count + index]));
  }
  return checked(PyObject_CallFunctionObjArgs(explainer, self->label, self->function, given.get(),
                                              named.get(), error, nullptr));
}

/// Exchanges the pending error for the one to raise.
[[gnu::noinline, gnu::cold]] PyObject* explain(const PublicFunction* self, PyObject* const* args,
                                               Py_ssize_t count, PyObject* names) {
  if (explainer == nullptr || (!self->is_getter && called_from_package())) return nullptr;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  PyObject* better = guarded([&] { return ask_explainer(self, args, count, names, value); });
  if (better == nullptr) {  // the error as it was is better than one about itself
    PyErr_Clear();
    better = Py_NewRef(value);
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(better))), better,
                PyException_GetTraceback(better));
  return nullptr;
}

/// The call by the protocol of overrides.h, with this function as the one that was called.
[[gnu::noinline, gnu::cold]] PyObject* hand_over(PyObject* self, PyObject* const* args,
                                                 Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Ref given(PyTuple_New(count)), named(PyDict_New());
    for (Py_ssize_t index = 0; index < count; ++index) {
      PyTuple_SET_ITEM(given.get(), index, Py_NewRef(args[index]));
    }
    for (Py_ssize_t index = 0; names != nullptr && index < PyTuple_GET_SIZE(names); ++index) {
      PyObject* const name = PyTuple_GET_ITEM(names, index);
      check_status(PyDict_SetItem(named.get(), name, args[count + index]));
    }
    const Ref module(PyImport_ImportModule("ebb.overrides"));
    const Ref dispatch(PyObject_GetAttrString(module.get(), "_dispatch"));
    return checked(
        PyObject_CallFunctionObjArgs(dispatch.get(), self, given.get(), named.get(), nullptr));
  });
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  const PublicFunction* const self = downcast(object);
  if (self->asks) {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (asks_by_second_name(args, count + named)) return hand_over(object, args, count, names);
  }
  PyObject* const made = PyObject_Vectorcall(self->function, args, flags, names);
  if (made == nullptr) [[unlikely]]
    return explain(self, args, PyVectorcall_NARGS(flags), names);
  return made;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function = nullptr, *label = nullptr;
  int is_getter = 0, asks = 0;
  if (PyArg_ParseTuple(args, "O!O|pp", &PyFunction_Type, &function, &label, &is_getter, &asks) ==
      0) {
    return nullptr;
  }
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  downcast(self)->vectorcall = call;
  downcast(self)->function = Py_NewRef(function);
  downcast(self)->label = Py_NewRef(label);
  downcast(self)->is_getter = is_getter != 0;
  downcast(self)->asks = asks != 0;
  return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(downcast(self)->function);
  Py_VISIT(downcast(self)->label);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(downcast(self)->function);
  Py_CLEAR(downcast(self)->label);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (downcast(self)->weaklist != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  free_object(self);
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

/// Attributes are the function's own, its class included, but for how it is called and copied.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  for (const char* own : {"__call__", "__get__", "__reduce__", "__reduce_ex__"}) {
    if (PyUnicode_CompareWithASCIIString(name, own) == 0) {
      return PyObject_GenericGetAttr(self, name);
    }
  }
  return PyObject_GetAttr(downcast(self)->function, name);
}
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(downcast(self)->function, name, value);
}
PyObject* repr(PyObject* self) { return PyObject_Repr(downcast(self)->function); }

/// Copies and pickles are by name, as those of functions.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(downcast(self)->function, "__qualname__");
}

/// What pydoc reads past get_attribute(), for help().
PyObject* doc(PyObject* self, void*) {
  return PyObject_GetAttrString(downcast(self)->function, "__doc__");
}

PyObject* set_explainer(PyObject*, PyObject* function) {
  Py_XSETREF(explainer, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};
PyMethodDef kFunctions[] = {
    {"_set_explainer", set_explainer, METH_O, nullptr},
    {},
};
PyGetSetDef kAttributes[] = {{"__doc__", doc, nullptr, nullptr, nullptr}, {}};
PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PublicFunction, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PublicFunction, weaklist), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

void add_public_function(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, as_slot(make)},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_traverse, as_slot(traverse)},
      {Py_tp_clear, as_slot(clear)},
      {Py_tp_call, as_slot(PyVectorcall_Call)},
      {Py_tp_descr_get, as_slot(bind)},
      {Py_tp_getattro, as_slot(get_attribute)},
      {Py_tp_setattro, as_slot(set_attribute)},
      {Py_tp_repr, as_slot(repr)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {Py_tp_members, kMembers},
      {0, nullptr},
  };
  PyType_Spec spec = {"ebb._C.function", sizeof(PublicFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR,
                      slots};
  const Ref type(PyType_FromSpec(&spec));
  check_status(PyModule_AddObjectRef(module, "_PublicFunction", type.get()));
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
