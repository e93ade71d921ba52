// python/src/base/value_types.cpp -- ebb.dtype, ebb.device and ebb.Size.
#include "python/src/base/value_types.h"

#include <array>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/meta.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};
struct DeviceObject {
  PyObject_HEAD Device device;
};

PyTypeObject* dtype_type = nullptr;
PyTypeObject* device_type = nullptr;
PyTypeObject* size_type = nullptr;
std::array<PyObject*, kDTypeCount> dtypes;

DType dtype_in(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }
Device device_in(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->device; }

PyObject* text(const std::string& value) {
  return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
}

// --- dtype ---

PyObject* dtype_repr(PyObject* self) {
  return text(std::string("ebb.") + std::string(name_of(dtype_in(self))));
}
/// Pickled and copied by name: there is one object of each.
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return text(std::string(name_of(dtype_in(self))));
}
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_floating(dtype_in(self)));
}
PyObject* dtype_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(dtype_in(self)));
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  const DType dtype = dtype_in(self);
  return PyBool_FromLong(dtype != DType::boolean && !is_unsigned(dtype));
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromSize_t(item_size(dtype_in(self)));
}
PyObject* dtype_name(PyObject* self, void*) { return text(std::string(name_of(dtype_in(self)))); }

PyGetSetDef kDTypeAttributes[] = {
    {"is_floating_point", dtype_is_floating, nullptr, "Whether it is a real floating type.",
     nullptr},
    {"is_complex", dtype_is_complex, nullptr, "Whether it is a complex type.", nullptr},
    {"is_signed", dtype_is_signed, nullptr, "Whether it has negative values.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"name", dtype_name, nullptr, "The name without `ebb.`.", nullptr},
    {},
};
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  const DType dtype = dtype_in(self);
  return Py_NewRef(dtype_object(is_complex(dtype) ? real_type_of(dtype) : dtype));
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  const DType dtype = dtype_in(self);
  if (!is_differentiable(dtype)) {
    throw DTypeError(str("to_complex: needs a floating or complex dtype, got ", dtype));
  }
  return Py_NewRef(dtype_object(complex_type_of(dtype)));
}
PyMethodDef kDTypeMethods[] = {
    {"to_real", dtype_to_real, METH_NOARGS,
     "to_real($self, /)\n--\n\nThe dtype of a complex type's real part; of others they "
     "themselves.\n\n"
     "Example:\n    >>> ebb.complex128.to_real()\n    ebb.float64\n"},
    {"to_complex", guarded_method<dtype_to_complex>(), METH_NOARGS,
     "to_complex($self, /)\n--\n\nThe complex type whose parts have the dtype; complex64 of what "
     "is "
     "smaller "
     "than float32.\n\nExample:\n    >>> ebb.float64.to_complex()\n    ebb.complex128\n"},
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {},
};

void add_dtypes(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The element type of a tensor, such as ebb.float32."
                                    "\n\nExample:\n"
                                    "    >>> ebb.float64.itemsize, ebb.float64.is_floating_point\n"
                                    "    (8, True)\n")},
      {Py_tp_repr, as_slot(dtype_repr)},
      {Py_tp_dealloc, as_slot(free_object)},
      {Py_tp_getset, kDTypeAttributes},
      {Py_tp_methods, kDTypeMethods},
      {0, nullptr},
  };
  dtype_type = add_type(module, {"ebb.dtype", sizeof(DTypeObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots});
  for (int index = 0; index < kDTypeCount; ++index) {
    auto* const object = PyObject_New(DTypeObject, dtype_type);
    object->dtype = static_cast<DType>(index);
    dtypes[static_cast<size_t>(index)] = checked(reinterpret_cast<PyObject*>(object));
    const std::string name(name_of(object->dtype));
    check_status(PyModule_AddObjectRef(module, name.c_str(), dtypes[static_cast<size_t>(index)]));
  }
}

// --- device ---

PyObject* device_repr(PyObject* self) {
  const Device device = device_in(self);
  std::string name = to_string(device);
  const size_t colon = name.find(':');
  std::string shown = "device(type='" + name.substr(0, colon) + "'";
  if (colon != std::string::npos) shown += ", index=" + name.substr(colon + 1);
  return text(shown + ")");
}
PyObject* device_str(PyObject* self) { return text(to_string(device_in(self))); }
PyObject* device_kind(PyObject* self, void*) {
  const std::string name = to_string(device_in(self));
  return text(name.substr(0, name.find(':')));
}
PyObject* device_index(PyObject* self, void*) {
  const Device device = device_in(self);
  if (device.type == DeviceType::cpu || is_meta(device)) Py_RETURN_NONE;
  return PyLong_FromLong(device.index);
}
Py_hash_t device_hash(PyObject* self) {
  const Device device = device_in(self);
  return static_cast<Py_hash_t>(device.type) * 256 + device.index + 1;
}
PyObject* device_compare(PyObject* self, PyObject* other, int operation) {
  if (!is_device(other) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = device_in(self) == device_in(other);
  return PyBool_FromLong(same == (operation == Py_EQ));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *what = nullptr, *index = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &what,
                                  &index) == 0) {
    return nullptr;
  }
  return guarded_as("device", [&] {
    if (index == Py_None) return make_device(to_device(what));
    // Another way to write "type:index".
    if (!PyUnicode_Check(what) || !PyLong_Check(index)) {
      throw DTypeError(
          str("device: needs a str and an int, got ", type_name(what), " and ", type_name(index)));
    }
    const Ref whole(checked(PyUnicode_FromFormat("%U:%S", what, index)));
    return make_device(to_device(whole.get()));
  });
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("O(N)", Py_TYPE(self), device_str(self));
}

PyGetSetDef kDeviceAttributes[] = {
    {"type", device_kind, nullptr, "'cpu' or another kind of device.", nullptr},
    {"index", device_index, nullptr, "Its number, or None for the CPU.", nullptr},
    {},
};
PyMethodDef kDeviceMethods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {},
};

void add_device(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("device(type, index=None)\n--\n\n"
                                    "Where a tensor's memory lives."
                                    "\n\nExample:\n"
                                    "    >>> device = ebb.device(\"cpu\")\n"
                                    "    >>> device.type, device == ebb.ones(1).device\n"
                                    "    ('cpu', True)\n"
                                    "    >>> with device:\n"
                                    "    ...     print(ebb.ones(1).device)\n"
                                    "    cpu\n")},
      {Py_tp_new, as_slot(device_new)},
      {Py_tp_repr, as_slot(device_repr)},
      {Py_tp_str, as_slot(device_str)},
      {Py_tp_hash, as_slot(device_hash)},
      {Py_tp_richcompare, as_slot(device_compare)},
      {Py_tp_dealloc, as_slot(free_object)},
      {Py_tp_getset, kDeviceAttributes},
      {Py_tp_methods, kDeviceMethods},
      {0, nullptr},
  };
  device_type =
      add_type(module, {"ebb.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, slots});
}

// --- Size ---

PyObject* size_repr(PyObject* self) {
  std::string shown = "ebb.Size([";
  for (Py_ssize_t dim = 0; dim < PyTuple_GET_SIZE(self); ++dim) {
    PyObject* const item = PyObject_Repr(PyTuple_GET_ITEM(self, dim));
    if (item == nullptr) return nullptr;
    if (dim > 0) shown += ", ";
    shown += utf8_of(item);
    Py_DECREF(item);
  }
  return text(shown + "])");
}

PyObject* size_numel(PyObject* self, PyObject*) {
  PyObject* product = PyLong_FromLong(1);
  for (Py_ssize_t dim = 0; product != nullptr && dim < PyTuple_GET_SIZE(self); ++dim) {
    PyObject* const next = PyNumber_Multiply(product, PyTuple_GET_ITEM(self, dim));
    Py_DECREF(product);
    product = next;
  }
  return product;
}

/// What tuple's own function made, as a Size; nullptr if that failed.
PyObject* as_size(PyObject* made) {
  if (made == nullptr) return nullptr;
  PyObject* const size = PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), made);
  Py_DECREF(made);
  return size;
}

/// A slice of a Size is a Size, and so are sums and products, from either side.
PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* const part = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? as_size(part) : part;
}

PyObject* size_add(PyObject* left, PyObject* right) {
  if (!PyTuple_Check(left) || !PyTuple_Check(right)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(left, right));
}

PyObject* size_multiply(PyObject* left, PyObject* right) {
  PyObject* const sizes = PyTuple_Check(left) ? left : right;
  PyObject* const count = sizes == left ? right : left;
  if (!PyTuple_Check(sizes) || !PyLong_Check(count)) Py_RETURN_NOTIMPLEMENTED;
  const Py_ssize_t times = PyNumber_AsSsize_t(count, PyExc_OverflowError);
  if (times == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(sizes, times));
}

PyObject* new_size(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return renamed("Size", PyTuple_Type.tp_new(type, args, kwargs));
}

PyMethodDef kSizeMethods[] = {
    {"numel", size_numel, METH_NOARGS, "numel($self)\n--\n\nReturn the product of the sizes."},
    {},
};

void add_size(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The shape of a tensor: a tuple of ints."
                                    "\n\nExample:\n"
                                    "    >>> shape = ebb.ones(2, 3).shape\n"
                                    "    >>> shape[0], shape.numel(), shape == (2, 3)\n"
                                    "    (2, 6, True)\n")},
      {Py_tp_new, as_slot(new_size)},
      {Py_tp_repr, as_slot(size_repr)},
      {Py_mp_subscript, as_slot(size_subscript)},
      {Py_nb_add, as_slot(size_add)},
      {Py_nb_multiply, as_slot(size_multiply)},
      {Py_tp_methods, kSizeMethods},
      {0, nullptr},
  };
  PyType_Spec spec = {"ebb.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject* const base = reinterpret_cast<PyObject*>(&PyTuple_Type);
  size_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, base)));
  check_status(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)));
}

void fill_tuple(PyObject* tuple, IntSpan values) {
  for (size_t index = 0; index < values.size(); ++index) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(index),
                     checked(PyLong_FromLongLong(values[index])));
  }
}

}  // namespace

PyObject* dtype_object(DType dtype) { return dtypes[static_cast<size_t>(dtype)]; }

std::optional<DType> to_dtype(PyObject* object) {
  if (Py_TYPE(object) == dtype_type) return dtype_in(object);
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::complex128;
  return std::nullopt;
}

PyObject* make_device(Device device) {
  auto* const object =
      reinterpret_cast<DeviceObject*>(checked(device_type->tp_alloc(device_type, 0)));
  object->device = revealed(device);
  return reinterpret_cast<PyObject*>(object);
}

bool is_device(PyObject* object) { return Py_TYPE(object) == device_type; }

Device to_device(PyObject* object) {
  if (is_device(object)) return device_in(object);
  if (!PyUnicode_Check(object)) {
    throw DTypeError(str("device: needs a device or its name, got ", type_name(object)));
  }
  return parse_device(std::string(utf8_of(object)));
}

PyObject* make_size(IntSpan sizes) {
  Ref size(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())));
  fill_tuple(size.get(), sizes);
  return size.release();
}

bool is_size(PyObject* object) { return PyObject_TypeCheck(object, size_type); }

PyObject* make_int_tuple(IntSpan values) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  fill_tuple(tuple.get(), values);
  return tuple.release();
}

void add_value_types(PyObject* module) {
  add_dtypes(module);
  add_device(module);
  add_size(module);
}

}  // namespace ebb::python
