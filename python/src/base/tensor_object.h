// python/src/base/tensor_object.h -- the Python object of a tensor, and how the two find each
// other.
//
// A tensor has at most one Python object, named in TensorImpl::py_object, so that `is` works and
// attributes stay. Ownership: the object owns a count of the impl. If Python drops an object that
// has attributes (or a class of its own) while C++ still holds the tensor, the impl takes the
// object over, marked by the lowest bit of py_object, and gives it back when the tensor returns to
// Python. Weak references die when Python's last reference goes. Everything here needs the GIL.
//
// Objects of the exact type come from a free list and are tracked by Python's collector only once
// they have a __dict__. Start reading at wrap().
#pragma once

#include <cstdint>
#include <new>

#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;  // undefined while the impl owns this object
  PyObject* dict;
  PyObject* weaklist;
};

extern PyTypeObject* tensor_type;

// How C++ notes that it owns a Python object: by the lowest bit. detail::release_py_object gives
// such an object up, and leaves others alone.
inline constexpr uintptr_t kOwnedByCpp = 1;
inline bool is_owned_by_cpp(void* py_object) {
  return (reinterpret_cast<uintptr_t>(py_object) & kOwnedByCpp) != 0;
}
inline void* mark_owned(PyObject* object) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(object) | kOwnedByCpp);
}
inline PyObject* object_in(void* py_object) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<uintptr_t>(py_object) & ~kOwnedByCpp);
}

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline bool is_tensor(PyObject* object) {
  return is_exact_tensor(object) || PyType_IsSubtype(Py_TYPE(object), tensor_type) != 0;
}
/// The tensor of an object for which is_tensor() holds, for as long as the object lives.
inline const Tensor& tensor_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

namespace detail {
inline constexpr int kFreeObjects = 256;
struct FreeList {
  int count = 0;
  TensorObject* objects[kFreeObjects];
};
extern FreeList free_list;
TensorObject* allocate_object();
PyObject* wrap_known(Tensor&& tensor);
}  // namespace detail

/// The Python object of a tensor, as a new reference; None for no tensor. Throws ErrorSet.
inline PyObject* wrap(Tensor&& tensor) {
  TensorImpl* const impl = tensor.impl();
  if (impl == nullptr || impl->py_object != nullptr) [[unlikely]] {
    return detail::wrap_known(std::move(tensor));
  }
  TensorObject* object;
  if (detail::free_list.count > 0) [[likely]] {
    object = detail::free_list.objects[--detail::free_list.count];
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
  } else {
    object = detail::allocate_object();
  }
  new (&object->tensor) Tensor(std::move(tensor));
  impl->py_object = object;
  return reinterpret_cast<PyObject*>(object);
}
inline PyObject* wrap(const Tensor& tensor) { return wrap(Tensor(tensor)); }

/// An object of `type` (Tensor or a subclass) for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

/// Lets Python's collector look into a tensor that has hooks; the object then stays the tensor's
/// own. Throws ErrorSet.
void track_tensor(PyObject* object);

// What tensor/type.cpp makes the type of.

/// tp_dealloc.
void dealloc_tensor(PyObject* self);
/// Lets the collector look into an object that has attributes or a class of its own.
void track_if_stateful(TensorObject* object);
/// For detail::release_py_object: the tensor dies, perhaps while it owns its object (see the top).
void release_tensor_object(void* py_object) noexcept;

}  // namespace ebb::python
