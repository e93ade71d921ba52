// python/src/tensor/number.cpp -- a tensor's value as a Python number.
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "python/src/base/errors.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

PyObject* positive(PyObject* self) { return Py_NewRef(self); }

int truth(PyObject* self) {
  return guarded(
      [&] {
        const Tensor& tensor = tensor_of(self);
        if (tensor.numel() != 1) {
          throw ValueError(str("bool: the truth of a tensor needs one element, got shape ",
                               describe_shape(tensor), "\nhint: ask x.any() or x.all()"));
        }
        if (is_meta(tensor)) throw_no_elements("bool");
        return tensor.item<bool>() ? 1 : 0;
      },
      -1);
}
PyObject* as_float(PyObject* self) {
  return guarded([&] {
    const Ref value(item_of(tensor_of(self)));
    return checked(PyNumber_Float(value.get()));
  });
}
PyObject* as_int(PyObject* self) {
  return guarded([&] {
    const Ref value(item_of(tensor_of(self)));
    return checked(PyNumber_Long(value.get()));
  });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor.numel() != 1 || is_differentiable(tensor.dtype())) {
      throw DTypeError(
          str("index: needs an integer tensor of one element, got ", describe_tensor(tensor)));
    }
    const Ref value(item_of(tensor));
    return checked(PyNumber_Index(value.get()));
  });
}

}  // namespace

void append_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot added[] = {
      {Py_nb_positive, as_slot(positive)}, {Py_nb_bool, as_slot(truth)},
      {Py_nb_float, as_slot(as_float)},    {Py_nb_int, as_slot(as_int)},
      {Py_nb_index, as_slot(as_index)},
  };
  slots.insert(slots.end(), std::begin(added), std::end(added));
}

}  // namespace ebb::python
