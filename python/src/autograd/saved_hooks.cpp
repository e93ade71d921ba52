// python/src/autograd/saved_hooks.cpp -- installs Python functions as saved-tensor hooks, and calls
// them.
//
// Hooks are called on whatever thread saves or runs, which takes the GIL for it. A tensor that a
// pack hook returns is kept as a tensor; any other object is shared with the saved value and let go
// of under the GIL, wherever the value is released.
#include "python/src/autograd/saved_hooks.h"

#include <optional>
#include <utility>
#include <vector>

#include "ebb/autograd/history/mutation_guard.h"
#include "ebb/core/base/error.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/shared_object.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

using Object = std::shared_ptr<PyObject>;

/// The result of a call that Python made, or its exception, thrown.
Ref result_of(PyObject* result) {
  if (result == nullptr) throw PythonError::take();
  return Ref(result);
}

class PythonHooks final : public SavedTensorsHooks {
 public:
  PythonHooks(PyObject* pack, PyObject* unpack)
      : pack_(share_object(Py_NewRef(pack))), unpack_(share_object(Py_NewRef(unpack))) {}

  std::any pack(const Tensor& value) override {
    const AcquireGil locked;
    run_deferred();  // what was packed before and has been released since
    const Ref argument(wrap(value));
    Ref packed = result_of(call_function(pack_.get(), argument.get()));
    if (is_tensor(packed.get())) return tensor_of(packed.get());
    return share_object(packed.release());
  }

  Tensor unpack(const std::any& packed) override {
    const AcquireGil locked;
    run_deferred();
    const Ref argument = argument_of(packed);
    const Ref value = result_of(call_function(unpack_.get(), argument.get()));
    if (!is_tensor(value.get())) {
      throw DTypeError(
          str("saved_tensors_hooks: output of a saved tensor's unpack_hook is "
              "expected to be a Tensor, got ",
              type_name(value.get())));
    }
    return tensor_of(value.get());
  }

  /// A tensor, or the tensors in a tuple or list.
  std::vector<Tensor> tensors_in(const std::any& packed) const override {
    if (const Tensor* const tensor = std::any_cast<Tensor>(&packed); tensor != nullptr) {
      return {*tensor};
    }
    const AcquireGil locked;
    std::vector<Tensor> tensors;
    PyObject* const object = std::any_cast<Object>(&packed)->get();
    if (!PyTuple_Check(object) && !PyList_Check(object)) return tensors;
    for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(object); ++index) {
      PyObject* const item = PySequence_Fast_GET_ITEM(object, index);
      if (is_tensor(item)) tensors.push_back(tensor_of(item));
    }
    return tensors;
  }

 private:
  static Ref argument_of(const std::any& packed) {
    const Tensor* const tensor = std::any_cast<Tensor>(&packed);
    if (tensor != nullptr) return Ref(wrap(*tensor));
    return Ref::share(std::any_cast<Object>(&packed)->get());
  }

  Object pack_;
  Object unpack_;
};

void check_pair(PyObject* const* args, Py_ssize_t count, const char* op) {
  if (count != 2 || PyCallable_Check(args[0]) == 0 || PyCallable_Check(args[1]) == 0) {
    throw DTypeError(str(op, ": needs two functions, pack_hook and unpack_hook, got ",
                         count == 2 ? type_name(args[PyCallable_Check(args[0]) == 0 ? 0 : 1])
                                    : std::to_string(count) + " arguments"));
  }
}

PyObject* push(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_pair(args, count, "saved_tensors_hooks");
  push_saved_tensors_hooks(python_hooks(args[0], args[1]));
  return Py_NewRef(Py_None);
}

PyObject* pop(PyObject*, PyObject*) {
  pop_saved_tensors_hooks();
  Py_RETURN_NONE;
}

/// Deletes the C++ guard in a capsule: leaves its scope.
template <typename Guard>
PyObject* capsule_of(Guard* guard) {
  return checked(PyCapsule_New(guard, "ebb.guard", [](PyObject* capsule) {
    delete static_cast<Guard*>(PyCapsule_GetPointer(capsule, "ebb.guard"));
  }));
}

PyObject* disable(PyObject*, PyObject* message) {
  return guarded(
      [&] { return capsule_of(new DisableSavedTensorsHooksGuard(std::string(utf8_of(message)))); });
}

PyObject* allow_mutation(PyObject*, PyObject*) {
  return guarded([&] { return capsule_of(new AllowMutationGuard()); });
}

PyMethodDef kFunctions[] = {
    {"_push_saved_hooks", guarded_method<push>(), METH_FASTCALL, nullptr},
    {"_pop_saved_hooks", pop, METH_NOARGS, nullptr},
    {"_disable_saved_hooks", disable, METH_O, nullptr},
    {"_allow_mutation", allow_mutation, METH_NOARGS, nullptr},
    {},
};

}  // namespace

std::shared_ptr<SavedTensorsHooks> python_hooks(PyObject* pack, PyObject* unpack) {
  return std::make_shared<PythonHooks>(pack, unpack);
}

void add_saved_hooks(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
