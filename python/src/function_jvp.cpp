// python/src/function_jvp.cpp -- calling jvp() and checking what it returns.
#include "python/src/function_jvp.h"

#include <vector>

#include "ebb/autograd/dual_call.h"
#include "ebb/core/error.h"
#include "python/src/errors.h"
#include "python/src/function_node.h"
#include "python/src/tensor_object.h"

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

Tensor checked_tangent(const ContextObject* context, size_t index, PyObject* item,
                       const Tensor& output) {
  if (item == Py_None) return {};
  if (!is_tensor(item)) {
    throw DTypeError(str(class_name(context), ".jvp: tangent ", index,
                         " must be a Tensor or None, got ", type_name(item)));
  }
  if (!output.defined() || !is_differentiable(output.dtype())) {
    throw ValueError(str(class_name(context), ".jvp: tangent ", index,
                         " must be None, since that output has no derivative, got a Tensor"));
  }
  const Tensor& tangent = tensor_of(item);
  if (!equal(tangent.sizes(), output.sizes())) {
    throw ShapeError(str(class_name(context), ".jvp: tangent ", index,
                         " must have its output's shape ", PrintShape{output.sizes()}, ", got ",
                         PrintShape{tangent.sizes()}));
  }
  return tangent;
}

void set_tangents(const ContextObject* context, autograd::DualCall& call, PyObject* results,
                  std::span<const Tensor> outputs) {
  const bool is_tuple = PyTuple_Check(results);
  PyObject* const* const items = is_tuple ? PySequence_Fast_ITEMS(results) : &results;
  const auto count = is_tuple ? static_cast<size_t>(PyTuple_GET_SIZE(results)) : size_t{1};
  if (count != outputs.size()) {
    throw ValueError(str(class_name(context), ".jvp: must return one tangent per output, ",
                         outputs.size(), ", got ", count));
  }
  for (size_t index = 0; index < count; ++index) {
    Tensor tangent = checked_tangent(context, index, items[index], outputs[index]);
    if (tangent.defined()) call.set(outputs[index], std::move(tangent));
  }
}

}  // namespace

bool carries_tangent(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    const bool may_carry = input.defined() && (input.impl()->flags & gate::kTangent) != 0;
    if (may_carry && autograd::is_dual(input)) return true;
  }
  return false;
}

void check_has_jvp(const ContextObject* context) {
  if (find_jvp(context).get() != function_defaults.jvp) return;
  throw NotImplementedError(
      str(class_name(context), ": needs a static method jvp() in forward mode, got none"));
}

void propagate_tangents(ContextObject* context, const Positions& tensor_arguments,
                        std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (context->dirty != nullptr && PyTuple_GET_SIZE(context->dirty) > 0) {
    throw NotImplementedError(str(class_name(context),
                                  ".jvp: needs inputs that forward() does not write in forward "
                                  "mode, got one marked dirty"));
  }
  const Tensor* first = nullptr;
  for (const Tensor& output : outputs) {
    if (!output.defined()) continue;
    autograd::drop_tangents(output, 0);  // what the ops inside forward() made of the inputs'
    if (first == nullptr && is_differentiable(output.dtype())) first = &output;
  }
  if (first == nullptr) return;
  autograd::DualCall call(inputs, *first, autograd::DualResult::fresh);
  while (call.next()) {
    const std::vector<Tensor> tangents = call.tangents(inputs);
    const JvpScope scope(context, call);
    const Ref results = call_jvp(context, tensor_arguments, tangents);
    set_tangents(context, call, results.get(), outputs);
  }
}

}  // namespace ebb::python
