// python/src/tensor/object.cpp -- life and death of Tensor objects.
#include "python/src/tensor/object.h"

#include <structmember.h>

#include <cstdint>
#include <vector>

#include "python/src/autograd/function_node.h"
#include "python/src/autograd/hooks.h"
#include "python/src/calls/errors.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {

PyTypeObject* tensor_type = nullptr;
detail::FreeList detail::free_list;

namespace {

PyObject* upcast(TensorObject* object) { return reinterpret_cast<PyObject*>(object); }

void track_if_stateful(TensorObject* object) {
  const bool has_state = object->dict != nullptr || Py_TYPE(object) != tensor_type;
  if (has_state && PyObject_GC_IsTracked(upcast(object)) == 0) PyObject_GC_Track(upcast(object));
}

/// The tensor dies while it owns its object (see the top of object.h).
void release_object(void* py_object) noexcept {
  if (!is_owned_by_cpp(py_object)) return;
  call_with_gil([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); },
                object_in(py_object));
}

/// Python has dropped the object, but C++ still holds the tensor: the impl becomes the owner.
void hand_over(TensorObject* object) {
  TensorImpl* const impl = object->tensor.leak();
  Py_SET_REFCNT(upcast(object), 1);
  impl->py_object = mark_owned(upcast(object));
  impl->release();  // if it was the last after all, this destroys the object
}

void let_go_of_tensor(TensorObject* object) {
  TensorImpl* const impl = object->tensor.leak();
  if (impl == nullptr) return;
  impl->py_object = nullptr;
  impl->release();
}

void dealloc_slowly(TensorObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(upcast(object)) < 0) {
    return;  // __del__ has kept it alive
  }
  PyObject_GC_UnTrack(object);
  if (object->weaklist != nullptr) PyObject_ClearWeakRefs(upcast(object));
  const bool has_state = object->dict != nullptr || type != tensor_type;
  const TensorImpl* const impl = object->tensor.impl();
  if (has_state && impl != nullptr && !impl->refs.is_unique()) return hand_over(object);
  let_go_of_tensor(object);
  Py_CLEAR(object->dict);
  type->tp_free(object);
  Py_DECREF(type);
}

void dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<TensorObject*>(self);
  const bool is_plain =
      Py_TYPE(self) == tensor_type && object->dict == nullptr && object->weaklist == nullptr;
  if (!is_plain) [[unlikely]]
    return dealloc_slowly(object);
  let_go_of_tensor(object);
#ifndef EBB_SANITIZE
  detail::FreeList& list = detail::free_list;
  if (list.count < detail::kFreeObjects) [[likely]] {
    list.objects[list.count++] = object;  // keeps its reference to the type
    return;
  }
#endif
  PyObject_GC_Del(object);
  Py_DECREF(tensor_type);
}

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
    "Tensor(data=(), dtype=None, device=None, requires_grad=False)\n--\n\n"
    "A multi-dimensional array that records the operations made on it.\n\n"
    "Make one with ebb.tensor(), ebb.from_numpy() or a creation function such as ebb.zeros().\n"
    "Tensor(2, 3) has this shape and any values; Tensor([2, 3]) has these values in the default\n"
    "dtype; Tensor(x) is x under another object.\n";

}  // namespace

TensorObject* detail::allocate_object() {
  auto* const object = PyObject_GC_New(TensorObject, tensor_type);
  if (object == nullptr) throw ErrorSet();
  object->dict = nullptr;
  object->weaklist = nullptr;
  return object;
}

PyObject* detail::wrap_known(Tensor&& tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  TensorImpl& impl = *tensor.impl();
  auto* const object = reinterpret_cast<TensorObject*>(object_in(impl.py_object));
  if (!is_owned_by_cpp(impl.py_object)) return Py_NewRef(upcast(object));
  impl.py_object = object;
  new (&object->tensor) Tensor(std::move(tensor));
  track_if_stateful(object);
  return upcast(object);  // the reference that the impl held
}

void track_tensor(PyObject* object) { Ref(get_dict(object, nullptr)); }

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  if (type == tensor_type) return wrap(std::move(tensor));
  TensorImpl* const impl = tensor.impl();
  auto* const object = reinterpret_cast<TensorObject*>(checked(type->tp_alloc(type, 0)));
  new (&object->tensor) Tensor(std::move(tensor));
  impl->py_object = object;
  return upcast(object);
}

void add_tensor_type(PyObject* module) {
  static std::vector<PyMethodDef> methods = tensor_methods();
  static std::vector<PyGetSetDef> attributes = tensor_attributes();
  attributes.insert(attributes.begin(), kDictAttribute);
  attributes.push_back({});
  methods.push_back({});
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, as_slot(tensor_new)},
      {Py_tp_dealloc, as_slot(dealloc)},
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
  PyType_Spec spec = {
      .name = "ebb.Tensor",
      .basicsize = sizeof(TensorObject),
      .itemsize = 0,
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
      .slots = slots.data(),
  };
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  check_status(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
  ebb::detail::release_py_object = release_object;
}

}  // namespace ebb::python
