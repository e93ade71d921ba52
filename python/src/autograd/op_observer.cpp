// python/src/autograd/op_observer.cpp -- shows each op of a thread to a Python function, with its
// place, module, tensors and results.
#include "python/src/autograd/op_observer.h"

#include <memory>
#include <utility>

#include "ebb/autograd/history/op_observer.h"
#include "ebb/core/base/scope_path.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/python_error.h"
#include "python/src/base/shared_object.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

using autograd::OpCall;

PyObject* place_of(LocationId id) {
  const SourceLocation place = describe_location(id);
  return place.file.empty() ? Py_NewRef(Py_None) : location_object(place);
}

PyObject* module_of(ScopeId scope) {
  if (scope == 0) return Py_NewRef(Py_None);
  return checked(PyUnicode_FromString(scope_path(scope).c_str()));
}

void append(PyObject* list, const Tensor& tensor) {
  if (!tensor.defined()) return;
  const Ref one(wrap(tensor));
  check_status(PyList_Append(list, one.get()));
}

/// The tensors among the arguments, lists flattened.
PyObject* operands_of(const OpCall& call) {
  Ref list(checked(PyList_New(0)));
  for (const autograd::OpArgument& argument : call.arguments) {
    if (const auto* const one = std::get_if<const Tensor*>(&argument)) append(list.get(), **one);
    const auto* const many = std::get_if<std::span<const Tensor>>(&argument);
    if (many == nullptr) continue;
    for (const Tensor& one : *many) append(list.get(), one);
  }
  return list.release();
}

class PythonObserver final : public autograd::OpObserver {
 public:
  explicit PythonObserver(PyObject* function) : function_(share_object(Py_NewRef(function))) {}

  /// function(name, place, module, writes, operands, results)
  void see(const OpCall& call, std::span<const Tensor> results) override {
    const AcquireGil locked;
    try {
      const Ref place(place_of(call.location)), module(module_of(thread_state.scope));
      const Ref operands(operands_of(call)), made(checked(PyList_New(0)));
      for (const Tensor& one : results) append(made.get(), one);
      const Ref done(checked(run_unless_exiting([&] {
        return PyObject_CallFunction(function_.get(), "sOOOOO", call.name, place.get(),
                                     module.get(), call.writes ? Py_True : Py_False, operands.get(),
                                     made.get());
      })));
    } catch (const ErrorSet&) {
      throw PythonError::take();
    }
  }

 private:
  std::shared_ptr<PyObject> function_;
};

PyObject* push_observer(PyObject*, PyObject* function) {
  if (PyCallable_Check(function) == 0) throw DTypeError("_push_op_observer: needs a function");
  autograd::push_op_observer(std::make_shared<PythonObserver>(function));
  return Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"_push_op_observer", guarded_method<push_observer>(), METH_O, nullptr},
    {},
};

}  // namespace

void add_op_observer(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
