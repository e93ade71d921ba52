// python/src/autograd/function/function_jvp.cpp -- calling jvp() and checking what it returns.
#include "python/src/autograd/function/function_jvp.h"

#include <vector>

#include "ebb/core/base/error.h"
#include "python/src/autograd/function/function_node.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {
namespace {

const char* class_name(const ContextObject* context) {
  return reinterpret_cast<PyTypeObject*>(context->function)->tp_name;
}

Ref find_jvp(const ContextObject* context) {
  static PyObject* const name = PyUnicode_InternFromString("jvp");
  return Ref(PyObject_GetAttr(context->function, name));
}

/// While jvp() runs, saved_tensors are those of save_for_forward(), without tangents of the level.
class JvpScope {
 public:
  JvpScope(ContextObject* context, const autograd::DualCall& call)
      : context_(context), given_(Ref::share(context->to_save_forward)) {
    context->in_jvp = true;
    if (!given_) return;
    const std::vector<Tensor> tensors = tensors_in(given_.get());
    Ref primals(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    for (size_t index = 0; index < tensors.size(); ++index) {
      const auto position = static_cast<Py_ssize_t>(index);
      PyTuple_SET_ITEM(primals.get(), position, wrap(call.primal(tensors[index])));
    }
    Py_XSETREF(context->to_save_forward, primals.release());
  }
  ~JvpScope() {
    context_->in_jvp = false;
    Py_XSETREF(context_->to_save_forward, given_.release());
  }
  JvpScope(const JvpScope&) = delete;
  JvpScope& operator=(const JvpScope&) = delete;

 private:
  ContextObject* context_;
  Ref given_;
};

/// jvp(ctx, *tangents), with None for zero and for what is no tensor.
Ref call_jvp(ContextObject* context, const Positions& tensor_arguments,
             const std::vector<Tensor>& tangents) {
  Ref arguments(PyTuple_New(context->argument_count + 1));
  PyTuple_SET_ITEM(arguments.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(context)));
  size_t input = 0;
  for (uint32_t index = 0; index < context->argument_count; ++index) {
    const bool is_input = tensor_arguments.contains(index);
    PyObject* const tangent = is_input ? wrap(tangents[input++]) : Py_NewRef(Py_None);
    PyTuple_SET_ITEM(arguments.get(), index + 1, tangent);
  }
  const Ref jvp = find_jvp(context);
  return Ref(run_unless_exiting([&] { return PyObject_CallObject(jvp.get(), arguments.get()); }));
}

/// What jvp() returned; a wrong number is left for CustomJvp to refuse.
std::vector<Tensor> to_tangents(const ContextObject* context, PyObject* results, size_t expected) {
  const bool is_tuple = PyTuple_Check(results);
  PyObject* const* const items = is_tuple ? PySequence_Fast_ITEMS(results) : &results;
  std::vector<Tensor> tangents(is_tuple ? static_cast<size_t>(PyTuple_GET_SIZE(results)) : 1);
  if (tangents.size() != expected) return tangents;
  for (size_t index = 0; index < expected; ++index) {
    if (items[index] == Py_None) continue;
    if (!is_tensor(items[index])) {
      throw DTypeError(str(class_name(context), ".jvp: tangent ", index,
                           " must be a Tensor or None, got ", type_name(items[index])));
    }
    tangents[index] = tensor_of(items[index]);
  }
  return tangents;
}

}  // namespace

void check_has_jvp(const ContextObject* context) {
  if (find_jvp(context).get() != function_defaults.jvp) return;
  throw NotImplementedError(
      str(class_name(context), ": needs a static method jvp() in forward mode, got none"));
}

void propagate_tangents(ContextObject* context, const Positions& tensor_arguments,
                        const autograd::CustomJvp& jvp, const autograd::CustomCall& call) {
  jvp.propagate(call, [&](const autograd::DualCall& dual, const std::vector<Tensor>& tangents) {
    const JvpScope scope(context, dual);
    return to_tangents(context, call_jvp(context, tensor_arguments, tangents).get(),
                       call.outputs.size());
  });
}

}  // namespace ebb::python
