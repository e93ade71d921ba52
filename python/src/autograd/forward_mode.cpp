// python/src/autograd/forward_mode.cpp -- levels and dual tensors; the public face is in Python.
#include "python/src/autograd/forward_mode.h"

#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/calls/args.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

const Tensor& to_tensor(const char* op, const char* name, PyObject* object) {
  if (!is_tensor(object)) {
    throw DTypeError(str(op, ": '", name, "' must be Tensor, got ", type_name(object)));
  }
  return tensor_of(object);
}

/// A level's id; None stands for the innermost.
uint64_t to_level(const char* op, PyObject* object) {
  if (object == Py_None) return 0;
  if (!PyLong_Check(object)) {
    throw DTypeError(str(op, ": 'level' must be a level or None, got ", type_name(object)));
  }
  const int64_t level = to_int64(object);
  if (level < 1) throw ValueError(str(op, ": 'level' must be a level or None, got ", level));
  return static_cast<uint64_t>(level);
}

PyObject* enter_level(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromUnsignedLongLong(enter_forward_level()); });
}

PyObject* exit_level(PyObject*, PyObject* level) {
  exit_forward_level(to_level("exit_dual_level", level));
  return Py_NewRef(Py_None);
}

/// The id of the innermost level, 0 for none.
PyObject* current_level(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(current_forward_level());
}

// (primal, tangent, level)
PyObject* make(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_count("make_dual", count, 3);
  const Tensor& primal = to_tensor("make_dual", "primal", args[0]);
  const Tensor& tangent = to_tensor("make_dual", "tangent", args[1]);
  return result(make_dual(primal, tangent, to_level("make_dual", args[2])));
}

// (tensor, level): the primal, and the tangent or None
PyObject* unpack(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check_count("unpack_dual", count, 2);
    const Tensor& tensor = to_tensor("unpack_dual", "tensor", args[0]);
    Dual dual = unpack_dual(tensor, to_level("unpack_dual", args[1]));
    const Ref primal(wrap(std::move(dual.primal)));
    const Ref tangent(dual.tangent.defined() ? wrap(std::move(dual.tangent)) : Py_NewRef(Py_None));
    return checked(PyTuple_Pack(2, primal.get(), tangent.get()));
  });
}

/// Levels, innermost first, on which a tensor carries a tangent.
PyObject* levels(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    std::vector<autograd::ForwardLevelPtr> live;
    autograd::add_levels(to_tensor("_tangent_levels", "tensor", object), live);
    const Ref list(checked(PyList_New(0)));
    for (auto level = live.rbegin(); level != live.rend(); ++level) {
      const Ref id(checked(PyLong_FromUnsignedLongLong((*level)->id())));
      check_status(PyList_Append(list.get(), id.get()));
    }
    return Py_NewRef(list.get());
  });
}

PyMethodDef kFunctions[] = {
    {"_enter_dual_level", enter_level, METH_NOARGS, nullptr},
    {"_exit_dual_level", guarded_method<exit_level>(), METH_O, nullptr},
    {"_current_dual_level", current_level, METH_NOARGS, nullptr},
    {"_make_dual", guarded_method<make>(), METH_FASTCALL, nullptr},
    {"_unpack_dual", as_method(unpack), METH_FASTCALL, nullptr},
    {"_tangent_levels", levels, METH_O, nullptr},
    {},
};

}  // namespace

void add_forward_mode(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
