// python/src/autograd/checkpoint.cpp -- calls a Python function, and calls it again in backward.
#include "python/src/autograd/checkpoint.h"

#include <memory>
#include <utility>
#include <vector>

#include "ebb/autograd/checkpoint/checkpoint_frame.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/core/base/error.h"
#include "python/src/base/default_dtype.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {
namespace {

using autograd::CallInputs;
using autograd::CheckpointFrame;

/// Calls a function with the floating dtype that new tensors had at some other time.
class DefaultDTypeScope {
 public:
  explicit DefaultDTypeScope(DType dtype) : outer_(default_dtype()) { set_default_dtype(dtype); }
  ~DefaultDTypeScope() { set_default_dtype(outer_); }
  DefaultDTypeScope(const DefaultDTypeScope&) = delete;
  DefaultDTypeScope& operator=(const DefaultDTypeScope&) = delete;

 private:
  DType outer_;
};

/// function(*args, **kwargs), to be called again. Tensors among the arguments are not kept but
/// given back to it: they are saved like operands. So are those of subclasses, but the object
/// stays: another one would not be of the class.
class KeptCall {
 public:
  KeptCall(PyObject* function, PyObject* args, PyObject* kwargs)
      : function_(Ref::share(function)),
        args_(PyTuple_New(PyTuple_GET_SIZE(args))),
        kwargs_(PyDict_New()),
        dtype_(default_dtype()) {
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(args); ++index) {
      PyObject* const value = PyTuple_GET_ITEM(args, index);
      PyObject* const kept = is_replaced(value) ? Py_None : value;
      PyTuple_SET_ITEM(args_.get(), index, Py_NewRef(kept));
      if (is_tensor(value)) add(Ref(PyLong_FromSsize_t(index)), index, value);
    }
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value) != 0;) {
      check_status(PyDict_SetItem(kwargs_.get(), key, is_replaced(value) ? Py_None : value));
      if (is_tensor(value)) add(Ref::share(key), -1, value);
    }
  }

  /// The tensors taken out; they go.
  std::vector<Tensor> take_tensors() { return std::exchange(tensors_, {}); }

  /// Makes the call again with these tensors. Its exception is thrown, but for the one that only
  /// says that enough is computed: to throw that once more would cost as much as the call.
  void repeat(const std::vector<Tensor>& tensors) const {
    Ref args(PySequence_List(args_.get()));
    const Ref kwargs(PyDict_Copy(kwargs_.get()));
    for (size_t at = 0; at < places_.size(); ++at) {
      const Place& place = places_[at];
      if (!place.is_replaced) continue;
      Ref value(wrap(tensors[at]));
      if (place.index < 0) {
        check_status(PyDict_SetItem(kwargs.get(), place.key.get(), value.get()));
      } else {
        check_status(PyList_SetItem(args.get(), place.index, value.release()));
      }
    }
    args = Ref(PyList_AsTuple(args.get()));
    const DefaultDTypeScope scope(dtype_);
    PyObject* const result = run_unless_exiting(
        [&] { return PyObject_Call(function_.get(), args.get(), kwargs.get()); });
    if (result == nullptr && PyErr_ExceptionMatches(error_classes.stop_recomputation) == 0) {
      throw PythonError::take();
    }
    if (result == nullptr) PyErr_Clear();
    Py_XDECREF(result);
  }

 private:
  /// Where a tensor was: a position, or a keyword.
  struct Place {
    Py_ssize_t index;  // -1 for a keyword
    Ref key;
    bool is_replaced;
  };
  static bool is_replaced(PyObject* value) { return Py_IS_TYPE(value, tensor_type); }
  void add(Ref key, Py_ssize_t index, PyObject* tensor) {
    places_.push_back({index, index < 0 ? std::move(key) : Ref(), is_replaced(tensor)});
    tensors_.push_back(tensor_of(tensor));
  }

  Ref function_, args_, kwargs_;
  DType dtype_;
  std::vector<Place> places_;
  std::vector<Tensor> tensors_;
};

/// A kept call that any thread may let go of.
std::shared_ptr<KeptCall> share_call(PyObject* function, PyObject* args, PyObject* kwargs) {
  return {new KeptCall(function, args, kwargs), [](KeptCall* kept) {
            call_with_gil([](void* last) { delete static_cast<KeptCall*>(last); }, kept);
          }};
}

/// _checkpoint(function, args, kwargs, early_stop, checks_metadata, keeps_random_state,
///             compares_ops)
PyObject* checkpoint(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 7 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
    throw InternalError("_checkpoint: bad arguments");
  }
  const auto call = [&] {
    return run_unless_exiting([&] { return PyObject_Call(args[0], args[1], args[2]); });
  };
  if (!is_grad_enabled()) return call();
  const CheckpointOptions options = {.early_stop = args[3] == Py_True,
                                     .checks_metadata = args[4] == Py_True,
                                     .keeps_random_state = args[5] == Py_True,
                                     .compares_ops = args[6] == Py_True};
  const std::shared_ptr<KeptCall> kept = share_call(args[0], args[1], args[2]);
  const auto recompute = [kept, saved = CallInputs::save(kept->take_tensors())] {
    std::vector<Tensor> again = saved->unpack();  // without the GIL: it may have to wait
    const AcquireGil locked;
    kept->repeat(again);
    again.clear();
  };
  const auto frame = std::make_shared<CheckpointFrame>(recompute, options);
  const SavedTensorsHooksGuard hooks(frame->hooks());
  const autograd::OpObserverGuard log(frame->log());
  PyObject* const result = call();
  if (result != nullptr) frame->finish_first_call();
  return result;
}

PyMethodDef kFunctions[] = {
    {"_checkpoint", guarded_method<checkpoint>(), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_checkpoint(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
