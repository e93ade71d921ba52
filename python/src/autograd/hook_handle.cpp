// python/src/autograd/hook_handle.cpp -- remove(), `with handle:`, and nothing that keeps a hook
// alive.
#include "python/src/autograd/hook_handle.h"

#include <structmember.h>

#include <new>

namespace ebb::python {
namespace {

struct HandleObject {
  PyObject_HEAD std::vector<autograd::HookHandle> handles;
  PyObject* weaklist;
};
PyTypeObject* handle_type = nullptr;

std::vector<autograd::HookHandle>& handles_of(PyObject* self) {
  return reinterpret_cast<HandleObject*>(self)->handles;
}

void dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<HandleObject*>(self);
  if (object->weaklist != nullptr) PyObject_ClearWeakRefs(self);
  object->handles.~vector();
  free_object(self);
}

PyObject* remove(PyObject* self, PyObject*) {
  bool was_there = false;
  for (autograd::HookHandle& handle : handles_of(self)) was_there |= handle.remove();
  return PyBool_FromLong(was_there);
}

PyObject* enter(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  PyObject* const removed = remove(self, nullptr);
  Py_XDECREF(removed);
  return removed == nullptr ? nullptr : Py_NewRef(Py_None);
}

PyObject* id(PyObject* self, void*) {
  const std::vector<autograd::HookHandle>& handles = handles_of(self);
  return PyLong_FromUnsignedLongLong(handles.empty() ? 0 : handles.front().id());
}

PyMethodDef kMethods[] = {
    {"remove", remove, METH_NOARGS,
     "remove($self)\n--\n\nRemove the hook; return whether it was still there."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave), METH_FASTCALL, nullptr},
    {},
};
PyGetSetDef kAttributes[] = {
    {"id", id, nullptr, "A number that no other hook has.", nullptr},
    {},
};
PyMemberDef* members() {
  static PyMemberDef list[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(HandleObject, weaklist), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  return list;
}

}  // namespace

PyObject* make_handle(std::vector<autograd::HookHandle> handles) {
  Ref self(handle_type->tp_alloc(handle_type, 0));
  auto* const object = reinterpret_cast<HandleObject*>(self.get());
  new (&object->handles) std::vector<autograd::HookHandle>(std::move(handles));
  return self.release();
}

void add_handle_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Removes a hook again; also at the end of a `with` block."
                                    "\n\nExample:\n"
                                    "    >>> x = ebb.ones(1, requires_grad=True)\n"
                                    "    >>> with x.register_hook(lambda grad: print(\"seen\")):\n"
                                    "    ...     x.sum().backward()\n"
                                    "    seen\n"
                                    "    >>> x.sum().backward()\n")},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {Py_tp_members, members()},
      {0, nullptr},
  };
  handle_type = add_type(module, {"ebb.autograd.RemovableHandle", sizeof(HandleObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots});
}

}  // namespace ebb::python
