// python/src/autograd/jvp.cpp -- _jvp(op, types, arguments, tangents): converts by type, then calls
// the rule.
#include "python/src/autograd/jvp.h"

#include <string>
#include <string_view>
#include <vector>

#include "ebb/autograd/forward/jvp_table.h"
#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/args.h"
#include "python/src/calls/op_call.h"

namespace ebb::python {
namespace {

using autograd::Argument;

const Tensor& to_tensor(PyObject* object) {
  if (!is_tensor(object)) throw DTypeError(str("_jvp: needs a Tensor, got ", type_name(object)));
  return tensor_of(object);
}

std::vector<Tensor> to_tensor_list(PyObject* object) {
  const Ref items(PySequence_Tuple(object));
  std::vector<Tensor> tensors;
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items.get()); ++index) {
    tensors.push_back(to_tensor(PyTuple_GET_ITEM(items.get(), index)));
  }
  return tensors;
}

std::vector<int64_t> to_ints(PyObject* object) {
  if (PyLong_Check(object)) return {to_int64(object)};
  const Ref items(PySequence_Tuple(object));
  std::vector<int64_t> values;
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(items.get()); ++index) {
    values.push_back(to_int64(PyTuple_GET_ITEM(items.get(), index)));
  }
  return values;
}

kernels::Reduction to_reduction(std::string_view text) {
  if (text == "none") return kernels::Reduction::none;
  return text == "sum" ? kernels::Reduction::sum : kernels::Reduction::mean;
}

Scalar to_number(PyObject* object) {
  const std::optional<Scalar> value = to_scalar(object);
  if (!value) throw DTypeError(str("_jvp: needs a number, got ", type_name(object)));
  return *value;
}

DType to_type(PyObject* object) {
  const std::optional<DType> dtype = to_dtype(object);
  if (!dtype) throw DTypeError(str("_jvp: needs a dtype, got ", type_name(object)));
  return *dtype;
}

/// A value of a type of the op table, which may end with "?".
Argument to_argument(std::string_view type, PyObject* object) {
  if (object == Py_None) return {};
  if (type.ends_with('?')) type.remove_suffix(1);
  if (type == "Tensor") return to_tensor(object);
  if (type == "Tensor[]") return to_tensor_list(object);
  if (type == "Scalar") return to_number(object);
  if (type == "int") return to_int64(object);
  if (type == "int[]") return to_ints(object);
  if (type == "bool") return object == Py_True;
  if (type == "float") return to_number(object).to_double();
  if (type == "str") return std::string(utf8_of(object));
  if (type == "dtype") return to_type(object);
  if (type == "Reduction") return to_reduction(utf8_of(object));
  throw DTypeError(str("_jvp: knows no type ", type));
}

/// A tensor, a list of tensors, or None for zeros.
Argument to_tangent(PyObject* object) {
  if (object == Py_None) return {};
  if (is_tensor(object)) return tensor_of(object);
  return to_tensor_list(object);
}

PyObject* jvp(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* op = nullptr;
    PyObject* types = nullptr;
    PyObject* values = nullptr;
    PyObject* given = nullptr;
    if (PyArg_ParseTuple(args, "sO!O!O!", &op, &PyTuple_Type, &types, &PyTuple_Type, &values,
                         &PyTuple_Type, &given) == 0) {
      throw ErrorSet();
    }
    const autograd::JvpRule* const rule = autograd::find_jvp_rule(op);
    if (rule == nullptr) throw NotImplementedError(str("_jvp: ", op, " has no rule"));
    if (PyTuple_GET_SIZE(types) != PyTuple_GET_SIZE(values)) {
      throw ValueError("_jvp: needs a type for each argument");
    }
    std::vector<Argument> arguments;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(values); ++index) {
      arguments.push_back(
          to_argument(utf8_of(PyTuple_GET_ITEM(types, index)), PyTuple_GET_ITEM(values, index)));
    }
    std::vector<Argument> tangents;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(given); ++index) {
      tangents.push_back(to_tangent(PyTuple_GET_ITEM(given, index)));
    }
    return result(rule->function(arguments, tangents));
  });
}

PyMethodDef kFunctions[] = {
    {"_jvp", jvp, METH_VARARGS, nullptr},
    {},
};

}  // namespace

void add_jvp(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
