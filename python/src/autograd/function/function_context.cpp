// python/src/autograd/function/function_context.cpp -- makes a ctx, and reads what forward() left
// in it.
#include "python/src/autograd/function/function_context.h"

#include <cstring>
#include <new>

#include "python/src/base/tensor_object.h"

namespace ebb::python {

PyTypeObject* context_type = nullptr;

Ref make_context(PyObject* function) {
  auto* const context = PyObject_GC_New(ContextObject, context_type);
  if (context == nullptr) throw ErrorSet();
  PyObject* const head = reinterpret_cast<PyObject*>(context);
  std::memset(reinterpret_cast<char*>(context) + sizeof(PyObject), 0,
              sizeof(ContextObject) - sizeof(PyObject));
  new (&context->needed) Positions();
  context->function = Py_NewRef(function);
  context->materializes_grads = true;
  return Ref(head);
}

void forget_marks(ContextObject* context) noexcept {
  Py_CLEAR(context->to_save);
  Py_CLEAR(context->to_save_forward);
  Py_CLEAR(context->dirty);
  Py_CLEAR(context->non_differentiable);
}

std::vector<Tensor> tensors_in(PyObject* tuple) {
  std::vector<Tensor> tensors;
  if (tuple == nullptr) return tensors;
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  tensors.reserve(static_cast<size_t>(count));
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyObject* const item = PyTuple_GET_ITEM(tuple, index);
    tensors.push_back(is_tensor(item) ? tensor_of(item) : Tensor());
  }
  return tensors;
}

bool may_close_cycle(const ContextObject* context) {
  if (context->dict == nullptr) return false;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(context->dict, &position, &name, &value) != 0) {
    if (PyObject_IS_GC(value) && !PyType_Check(value)) return true;
  }
  return false;
}

}  // namespace ebb::python
