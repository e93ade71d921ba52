// python/src/tensor/new.cpp -- ebb.Tensor(...): PyTorch's old constructor.
//
// Ints are sizes, a tensor gives itself under another object, and everything else is data, which
// takes the default dtype whatever its numbers are. ebb.tensor() is the constructor that looks at
// them.
#include <algorithm>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/view.h"
#include "python/src/base/default_dtype.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

constexpr uint8_t kOptional = kHasDefault | kNoneAllowed;

Param data_params[] = {{"data", ArgKind::object, kHasDefault},
                       {"dtype", ArgKind::dtype, kOptional},
                       {"device", ArgKind::device, kOptional},
                       {"requires_grad", ArgKind::boolean, kHasDefault}};
const Overload data_overloads[] = {data_params};
OpSpec data_spec{"Tensor", data_overloads};

Param size_params[] = {{"size", ArgKind::int_list, kVarArgs},
                       {"dtype", ArgKind::dtype, kOptional | kKeywordOnly},
                       {"device", ArgKind::device, kOptional | kKeywordOnly},
                       {"requires_grad", ArgKind::boolean, kHasDefault | kKeywordOnly}};
const Overload size_overloads[] = {size_params};
OpSpec size_spec{"Tensor", size_overloads};

/// A call as a fastcall: positional values, then the values of keywords.
struct FlatCall {
  std::vector<PyObject*> values;
  Py_ssize_t count;
  Ref names;

  FlatCall(PyObject* args, PyObject* kwargs)
      : count(PyTuple_GET_SIZE(args)),
        names(PyTuple_New(kwargs == nullptr ? 0 : PyDict_GET_SIZE(kwargs))) {
    for (Py_ssize_t index = 0; index < count; ++index) {
      values.push_back(PyTuple_GET_ITEM(args, index));
    }
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (Py_ssize_t index = 0; kwargs != nullptr && PyDict_Next(kwargs, &position, &key, &value);
         ++index) {
      PyTuple_SET_ITEM(names.get(), index, Py_NewRef(key));
      values.push_back(value);
    }
  }
  Call call() const { return {nullptr, values.data(), count, names.get()}; }

  /// Whether sizes are given, as in Tensor(2, 3), Tensor(x.shape) and Tensor(size=(2, 3)).
  bool names_sizes() const {
    if (count == 0) return has_keyword("size");
    if (count == 1 && (is_size(values[0]) || is_tensor(values[0]))) return is_size(values[0]);
    return std::all_of(values.begin(), values.begin() + count, [](PyObject* value) {
      return PyIndex_Check(value) && !PyBool_Check(value) && !is_numpy_array(value);
    });
  }

 private:
  bool has_keyword(const char* name) const {
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(names.get()); ++index) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), index), name) == 0) {
        return true;
      }
    }
    return false;
  }
};

/// The values of a sequence or an array, or the tensor itself.
Tensor from_data(PyObject* data, std::optional<DType> dtype, std::optional<Device> device) {
  if (is_tensor(data) && !dtype && !device) return alias_of(tensor_of(data));
  if (is_tensor(data)) return tensor_from_data(data, dtype, device);
  if (PySequence_Check(data) == 0 || PyUnicode_Check(data) || PyBytes_Check(data)) {
    throw DTypeError(str("Tensor: needs sizes, a sequence, an array or a Tensor, got ",
                         type_name(data), "\nhint: ebb.tensor() takes numbers"));
  }
  return tensor_from_data(data, or_default(dtype), device);
}

Tensor made_from(const FlatCall& flat) {
  const bool has_sizes = flat.names_sizes();
  const Arguments arguments(has_sizes ? size_spec : data_spec, flat.call());
  const std::optional<DType> dtype = arguments.optional_dtype(1);
  const std::optional<Device> device = arguments.optional_device(2);
  Tensor made;
  if (has_sizes) {
    const IntList sizes = arguments.int_list(0);
    checked_numel("Tensor", sizes, item_size(or_default(dtype)));
    made = ebb::empty(sizes, or_default(dtype), device);
  } else if (flat.count > 0 || arguments.given(0)) {
    made = from_data(arguments.object(0), dtype, device);
  } else {
    made = ebb::empty(Shape{0}, or_default(dtype), device);
  }
  if (arguments.given(3) && arguments.boolean(3)) requires_grad_(made);
  return made;
}

}  // namespace

Tensor alias_of(const Tensor& tensor) {
  return tensor.requires_grad() ? ebb::view(tensor, tensor.sizes()) : ebb::detach(tensor);
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded_as("Tensor", [&]() -> PyObject* {
    const FlatCall flat(args, kwargs);
    try {
      return wrap_as(type, made_from(flat));
    } catch (const CallsOverride&) {
      return call_override("Tensor", flat.call());
    }
  });
}

}  // namespace ebb::python
