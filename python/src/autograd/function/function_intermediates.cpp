// python/src/autograd/function/function_intermediates.cpp -- finds them, and stands aliases in for
// them.
#include "python/src/autograd/function/function_intermediates.h"

#include <string>

#include "ebb/core/base/error.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

/// Whether a tensor was computed in forward() and is neither input nor output.
class IsIntermediate {
 public:
  IsIntermediate(std::span<const Tensor> inputs, std::span<const Tensor> outputs)
      : inputs_(inputs), outputs_(outputs) {}
  bool operator()(PyObject* value) const {
    if (is_tensor(value)) return is_one(tensor_of(value));
    if (!PyTuple_Check(value) && !PyList_Check(value)) return false;
    for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(value); ++index) {
      PyObject* const item = PySequence_Fast_GET_ITEM(value, index);
      if (is_tensor(item) && is_one(tensor_of(item))) return true;
    }
    return false;
  }

 private:
  bool is_one(const Tensor& tensor) const {
    if (tensor.requires_grad() || !is_differentiable(tensor.dtype())) return false;
    for (const Tensor& input : inputs_) {
      if (input.is_same(tensor)) return false;
    }
    for (const Tensor& output : outputs_) {
      if (output.is_same(tensor)) return false;
    }
    return true;
  }

  std::span<const Tensor> inputs_, outputs_;
};

/// An alias of the tensor (or of those in a tuple or list) that refuses derivatives.
Ref refusing(autograd::Node& node, const std::string& name, PyObject* value) {
  if (is_tensor(value)) {
    const Tensor& tensor = tensor_of(value);
    if (tensor.requires_grad() || !is_differentiable(tensor.dtype())) return Ref::share(value);
    return Ref(wrap(autograd::refuse_derivatives(
        node, tensor,
        str("ctx.", name,
            " was computed inside forward() and has no recorded history, got a derivative through "
            "it asked for\nhint: compute it again in backward(), or return it as an output; pass "
            "it as an argument of apply() if it depends on none"))));
  }
  if (!PyTuple_Check(value) && !PyList_Check(value)) return Ref::share(value);
  Ref items(PyTuple_Check(value) ? PyList_AsTuple(Ref(PySequence_List(value)).get())
                                 : PySequence_List(value));
  for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(items.get()); ++index) {
    PyObject** const item = PySequence_Fast_ITEMS(items.get()) + index;
    if (!is_tensor(*item)) continue;
    Ref alias = refusing(node, name, *item);
    Py_SETREF(*item, alias.release());
  }
  return items;
}

}  // namespace

void look_for_intermediates(ContextObject* context, std::span<const Tensor> inputs,
                            std::span<const Tensor> outputs) {
  if (context->dict == nullptr) return;
  const IsIntermediate is_intermediate(inputs, outputs);
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(context->dict, &position, &name, &value) != 0) {
    if (!is_intermediate(value)) continue;
    if (context->intermediates == nullptr) context->intermediates = checked(PyList_New(0));
    check_status(PyList_Append(context->intermediates, name));
  }
}

IntermediatesScope::IntermediatesScope(ContextObject* context, autograd::Node& node)
    : context_(context) {
  if (context->intermediates == nullptr || context->dict == nullptr) return;
  Ref originals(PyDict_New());
  Ref replacements(PyDict_New());
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(context->intermediates); ++index) {
    PyObject* const name = PyList_GET_ITEM(context->intermediates, index);
    PyObject* const value = PyDict_GetItemWithError(context->dict, name);
    if (value == nullptr) continue;
    const std::string text(PyUnicode_Check(name) ? utf8_of(name) : "attribute");
    const Ref alias = refusing(node, text.c_str(), value);
    check_status(PyDict_SetItem(originals.get(), name, value));
    check_status(PyDict_SetItem(replacements.get(), name, alias.get()));
  }
  originals_ = originals.release();
  if (PyDict_Update(context->dict, replacements.get()) < 0) PyErr_Clear();
}

IntermediatesScope::~IntermediatesScope() {
  if (originals_ == nullptr) return;
  PyObject *type, *value, *traceback;  // backward() may have raised
  PyErr_Fetch(&type, &value, &traceback);
  if (context_->dict != nullptr && PyDict_Update(context_->dict, originals_) < 0) PyErr_Clear();
  Py_DECREF(originals_);
  PyErr_Restore(type, value, traceback);
}

}  // namespace ebb::python
