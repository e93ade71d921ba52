// python/src/base/tensor_object.cpp -- life and death of Tensor objects.
#include "python/src/base/tensor_object.h"

namespace ebb::python {

PyTypeObject* tensor_type = nullptr;
detail::FreeList detail::free_list;

namespace {

PyObject* upcast(TensorObject* object) { return reinterpret_cast<PyObject*>(object); }

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

void track_if_stateful(TensorObject* object) {
  const bool has_state = object->dict != nullptr || Py_TYPE(object) != tensor_type;
  if (has_state && PyObject_GC_IsTracked(upcast(object)) == 0) PyObject_GC_Track(upcast(object));
}

void track_tensor(PyObject* object) {
  const Ref dict(PyObject_GenericGetDict(object, nullptr));
  track_if_stateful(reinterpret_cast<TensorObject*>(object));
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  if (type == tensor_type) return wrap(std::move(tensor));
  TensorImpl* const impl = tensor.impl();
  auto* const object = reinterpret_cast<TensorObject*>(checked(type->tp_alloc(type, 0)));
  new (&object->tensor) Tensor(std::move(tensor));
  impl->py_object = object;
  return upcast(object);
}

void dealloc_tensor(PyObject* self) {
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

void release_tensor_object(void* py_object) noexcept {
  if (!is_owned_by_cpp(py_object)) return;
  call_with_gil([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); },
                object_in(py_object));
}

}  // namespace ebb::python
