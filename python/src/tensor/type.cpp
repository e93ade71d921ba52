// python/src/tensor/type.cpp -- puts the Tensor type together; what Python's collector sees of it.
#include "python/src/tensor/type.h"

#include <structmember.h>

#include <vector>

#include "python/src/autograd/function/function_node.h"
#include "python/src/autograd/hooks.h"
#include "python/src/base/tensor_object.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

/// The node behind a tensor that only its Python object keeps alive.
autograd::Node* owned_node(TensorObject* object) {
  const TensorImpl* const impl = object->tensor.impl();
  if (impl == nullptr || !impl->refs.is_unique()) return nullptr;
  return static_cast<autograd::Node*>(impl->producer);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* const object = reinterpret_cast<TensorObject*>(self);
  Py_VISIT(object->dict);
  autograd::Node* const node = owned_node(object);
  const int status = visit_context(node, 1, visit, arg);
  return status != 0 ? status : visit_hooks(node, 1, visit, arg);
}

int clear(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  Py_CLEAR(object->dict);
  clear_hooks(owned_node(object), 1);
  // A plain object without a __dict__ goes to the free list, where nothing tracked may be.
  if (Py_TYPE(self) == tensor_type) PyObject_GC_UnTrack(self);
  return 0;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  track_if_stateful(reinterpret_cast<TensorObject*>(self));
  return status;
}

PyObject* get_dict(PyObject* self, void* context) {
  PyObject* const dict = PyObject_GenericGetDict(self, context);
  track_if_stateful(reinterpret_cast<TensorObject*>(self));
  return dict;
}

int set_dict(PyObject* self, PyObject* value, void* context) {
  const int status = PyObject_GenericSetDict(self, value, context);
  track_if_stateful(reinterpret_cast<TensorObject*>(self));
  return status;
}

PyGetSetDef kDictAttribute = {"__dict__", get_dict, set_dict, nullptr, nullptr};

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weaklist), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr const char* kDoc =
    "Tensor(*data, dtype=None, device=None, requires_grad=False)\n--\n\n"
    "A multi-dimensional array that records the operations made on it.\n\n"
    "Make one with ebb.tensor(), ebb.from_numpy() or a creation function such as ebb.zeros().\n"
    "Tensor(2, 3) has this shape and any values; Tensor([2, 3]) has these values in the default\n"
    "dtype; Tensor(x) is x under another object.\n"
    "\nExample:\n"
    "    >>> x = ebb.Tensor([1.0, 2.0])\n"
    "    >>> x.shape, x.dtype\n"
    "    (ebb.Size([2]), ebb.float32)\n";

}  // namespace

void add_tensor_type(PyObject* module) {
  static std::vector<PyMethodDef> methods = tensor_methods();
  static std::vector<PyGetSetDef> attributes = tensor_attributes();
  attributes.insert(attributes.begin(), kDictAttribute);
  attributes.push_back({});
  methods.push_back({});
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, as_slot(tensor_new)},
      {Py_tp_dealloc, as_slot(dealloc_tensor)},
      {Py_tp_traverse, as_slot(traverse)},
      {Py_tp_clear, as_slot(clear)},
      {Py_tp_setattro, as_slot(set_attribute)},
      {Py_tp_hash, as_slot(_Py_HashPointer)},
      {Py_tp_repr, as_slot(tensor_repr)},
      {Py_tp_members, kMembers},
      {Py_tp_getset, attributes.data()},
      {Py_tp_methods, methods.data()},
  };
  append_operator_slots(slots);
  append_number_slots(slots);
  append_index_slots(slots);
  append_buffer_slots(slots);
  slots.push_back({0, nullptr});
  tensor_type =
      add_type(module, {
                           .name = "ebb.Tensor",
                           .basicsize = sizeof(TensorObject),
                           .itemsize = 0,
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                           .slots = slots.data(),
                       });
  ebb::detail::release_py_object = release_tensor_object;
}

}  // namespace ebb::python
