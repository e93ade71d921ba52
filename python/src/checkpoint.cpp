// python/src/checkpoint.cpp -- calls a Python function, and calls it again in backward.
#include "python/src/checkpoint.h"

#include <memory>
#include <vector>

#include "ebb/autograd/checkpoint_frame.h"
#include "ebb/autograd/grad_mode.h"
#include "ebb/core/error.h"
#include "python/src/errors.h"
#include "python/src/python_error.h"
#include "python/src/shared_object.h"
#include "python/src/tensor_object.h"

namespace ebb::python {
namespace {

using autograd::CallInputs;
using autograd::CheckpointFrame;

// Derives from BaseException: no `except Exception` of the function must catch it.
PyObject* stop_class = nullptr;

Ref list_of(const std::vector<Tensor>& tensors, size_t count) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  for (size_t index = 0; index < count; ++index) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index), wrap(tensors[index]));
  }
  return list;
}

/// function(tensors, is_recomputation); its exception is thrown.
Ref call(PyObject* function, const std::vector<Tensor>& tensors, size_t count, bool is_again) {
  const Ref list = list_of(tensors, count);
  PyObject* const result = call_function(function, list.get(), is_again ? Py_True : Py_False);
  if (result == nullptr) throw PythonError::take();
  return Ref(result);
}

/// What makes the call again, with the tensors that `saved` kept.
std::function<void()> recomputation(PyObject* function, autograd::NodePtr<CallInputs> saved,
                                    size_t count) {
  return [function = share_object(Py_NewRef(function)), saved = std::move(saved), count] {
    std::vector<Tensor> again = saved->unpack();  // before the GIL: it may wait for other threads
    const AcquireGil locked;
    static_cast<void>(call(function.get(), again, count, true));
    again.clear();
  };
}

std::vector<Tensor> to_tensors(PyObject* list) {
  std::vector<Tensor> tensors;
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list); ++index) {
    tensors.push_back(tensor_of(PyList_GET_ITEM(list, index)));
  }
  return tensors;
}

/// _checkpoint(function, tensors, early_stop, checks_metadata, keeps_random_state)
PyObject* checkpoint(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    if (count != 5 || !PyList_Check(args[1])) throw InternalError("_checkpoint: bad arguments");
    const std::vector<Tensor> tensors = to_tensors(args[1]);
    const CheckpointOptions options = {.early_stop = args[2] == Py_True,
                                       .checks_metadata = args[3] == Py_True,
                                       .keeps_random_state = args[4] == Py_True};
    if (!is_grad_enabled()) return call(args[0], tensors, tensors.size(), false).release();
    const auto frame = std::make_shared<CheckpointFrame>(
        recomputation(args[0], CallInputs::save(tensors), tensors.size()), options);
    const SavedTensorsHooksGuard hooks(frame->hooks());
    return call(args[0], tensors, tensors.size(), false).release();
  });
}

PyMethodDef kFunctions[] = {
    {"_checkpoint", as_method(checkpoint), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void set_stop_recomputation() noexcept { PyErr_SetNone(stop_class); }

void add_checkpoint(PyObject* module) {
  stop_class = checked(PyErr_NewExceptionWithDoc(
      "ebb.utils.checkpoint.StopRecomputation",
      "Ends a recomputation that has all it needs. Let it pass.", PyExc_BaseException, nullptr));
  check_status(PyModule_AddObjectRef(module, "_StopRecomputation", stop_class));
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
