// python/src/parts/init.cpp -- starting values that are computed in C++, for ebb.nn.init.
#include "python/src/parts/init.h"

#include "ebb/core/base/error.h"
#include "ebb/nn/init.h"
#include "python/src/calls/errors.h"
#include "python/src/calls/plain_args.h"
#include "python/src/tensor/object.h"

namespace ebb::python {
namespace {

const Tensor& to_tensor(const char* op, PyObject* object) {
  if (!is_tensor(object)) {
    throw DTypeError(str(op, ": needs a Tensor, got ", type_name(object)));
  }
  return tensor_of(object);
}

// (tensor, gain)
PyObject* orthogonal(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const char* const op = "orthogonal_";
    check_count(op, count, 2);
    const Tensor tensor = to_tensor(op, args[0]);
    const double gain = to_number(op, "gain", args[1]);
    {
      const ReleaseGil released;
      nn::init::orthogonal_(tensor, gain);
    }
    return Py_NewRef(args[0]);
  });
}

// (tensor, mean, std, a, b)
PyObject* trunc_normal(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const char* const op = "trunc_normal_";
    check_count(op, count, 5);
    const Tensor tensor = to_tensor(op, args[0]);
    const double mean = to_number(op, "mean", args[1]);
    const double std = to_number(op, "std", args[2]);
    const double low = to_number(op, "a", args[3]);
    const double high = to_number(op, "b", args[4]);
    {
      const ReleaseGil released;
      nn::init::trunc_normal_(tensor, mean, std, low, high);
    }
    return Py_NewRef(args[0]);
  });
}

PyMethodDef kFunctions[] = {
    {"_init_orthogonal", as_method(orthogonal), METH_FASTCALL, nullptr},
    {"_init_trunc_normal", as_method(trunc_normal), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_init(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
