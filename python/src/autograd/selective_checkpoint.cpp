// python/src/autograd/selective_checkpoint.cpp -- asks a Python policy which results a checkpoint
// keeps.
#include "python/src/autograd/selective_checkpoint.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "ebb/autograd/checkpoint/selective_cache.h"
#include "ebb/autograd/history/op_support.h"
#include "ebb/core/base/error.h"
#include "python/src/autograd/saved_values.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/shared_object.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/op_call.h"

namespace ebb::python {
namespace {

using autograd::OpArgument;
using autograd::OpCall;
using autograd::SelectiveCache;
using CachePtr = std::shared_ptr<SelectiveCache>;

constexpr const char* kCapsule = "ebb.selective_cache";

/// An argument of an op as a new reference.
struct ToPython {
  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(const Tensor* tensor) const { return wrap(*tensor); }
  PyObject* operator()(std::span<const Tensor> tensors) const {
    return result(std::vector<Tensor>(tensors.begin(), tensors.end()));
  }
  PyObject* operator()(const Scalar* number) const { return attribute_object(*number); }
  PyObject* operator()(std::string_view text) const { return attribute_object(std::string(text)); }
  template <typename T>
  PyObject* operator()(const T& value) const {
    return attribute_object(autograd::attribute(value));
  }
};

/// policy(is_recompute, op name, *args), which returns the number of a CheckpointPolicy.
CheckpointPolicy ask(PyObject* policy, const OpCall& call, bool is_recompute) {
  const AcquireGil locked;
  try {
    const auto count = static_cast<Py_ssize_t>(call.arguments.size());
    const Ref args(PyTuple_New(count + 2));
    PyTuple_SET_ITEM(args.get(), 0, PyBool_FromLong(is_recompute));
    PyTuple_SET_ITEM(args.get(), 1, checked(PyUnicode_FromString(call.name)));
    for (Py_ssize_t index = 0; index < count; ++index) {
      const OpArgument& argument = call.arguments[static_cast<size_t>(index)];
      PyTuple_SET_ITEM(args.get(), index + 2, std::visit(ToPython(), argument));
    }
    const Ref answer(
        checked(run_unless_exiting([&] { return PyObject_CallObject(policy, args.get()); })));
    const long number = PyLong_AsLong(answer.get());
    if (number == -1 && PyErr_Occurred() != nullptr) throw ErrorSet();
    return static_cast<CheckpointPolicy>(number);
  } catch (const ErrorSet&) {
    throw PythonError::take();
  }
}

/// _selective_cache(policy, allows_mutation)
PyObject* selective_cache(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) throw InternalError("_selective_cache: bad arguments");
  const auto policy = [shared = share_object(Py_NewRef(args[0]))](const OpCall& call,
                                                                  bool is_recompute) {
    return ask(shared.get(), call, is_recompute);
  };
  auto cache =
      std::make_unique<CachePtr>(std::make_shared<SelectiveCache>(policy, args[1] == Py_True));
  PyObject* const capsule = checked(PyCapsule_New(cache.get(), kCapsule, [](PyObject* object) {
    delete static_cast<CachePtr*>(PyCapsule_GetPointer(object, kCapsule));
  }));
  cache.release();
  return capsule;
}

SelectiveCache& cache_of(PyObject* capsule) {
  auto* const cache = static_cast<CachePtr*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (cache == nullptr) throw ErrorSet();
  return **cache;
}

PyObject* push_keeper(PyObject*, PyObject* capsule) {
  autograd::push_op_observer(cache_of(capsule).keeper());
  return Py_NewRef(Py_None);
}

PyObject* push_giver(PyObject*, PyObject* capsule) {
  autograd::push_op_observer(cache_of(capsule).giver());
  return Py_NewRef(Py_None);
}

PyObject* pop_observer(PyObject*, PyObject*) {
  autograd::pop_op_observer();
  Py_RETURN_NONE;
}

PyObject* kept_bytes(PyObject*, PyObject* capsule) {
  return guarded([&] { return PyLong_FromSize_t(cache_of(capsule).bytes()); });
}

/// Whether policies are asked for ops of this name: not for compositions of others.
PyObject* is_observed(PyObject*, PyObject* name) {
  const std::string_view wanted = utf8_of(name);
  const bool is_there = std::ranges::any_of(op_tables(), [&](const OpTable& family) {
    return !wanted.empty() && std::ranges::find(family.recorded, wanted) != family.recorded.end();
  });
  return PyBool_FromLong(is_there);
}

PyMethodDef kFunctions[] = {
    {"_selective_cache", guarded_method<selective_cache>(), METH_FASTCALL, nullptr},
    {"_push_keeper", guarded_method<push_keeper>(), METH_O, nullptr},
    {"_push_giver", guarded_method<push_giver>(), METH_O, nullptr},
    {"_pop_op_observer", pop_observer, METH_NOARGS, nullptr},
    {"_kept_bytes", kept_bytes, METH_O, nullptr},
    {"_is_observed_op", guarded_method<is_observed>(), METH_O, nullptr},
    {},
};

}  // namespace

void add_selective_checkpoint(PyObject* module) {
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
