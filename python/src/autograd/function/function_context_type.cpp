// python/src/autograd/function/function_context_type.cpp -- methods and attributes of ctx.
#include "python/src/autograd/function/function_context_type.h"

#include <structmember.h>

#include "ebb/core/base/error.h"
#include "python/src/autograd/function/function_context.h"
#include "python/src/autograd/function/function_node.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/tensor_object.h"
#include "python/src/calls/op_call.h"

namespace ebb::python {
namespace {

using autograd::NodePtr;

ContextObject* downcast(PyObject* self) { return reinterpret_cast<ContextObject*>(self); }

void clear_references(ContextObject* context) {
  Py_CLEAR(context->dict);
  Py_CLEAR(context->intermediates);
  forget_marks(context);
}

void dealloc(PyObject* self) {
  ContextObject* const context = downcast(self);
  PyTypeObject* const type = Py_TYPE(self);
  if (PyObject_GC_IsTracked(self) != 0) PyObject_GC_UnTrack(self);
  if (context->weaklist != nullptr) PyObject_ClearWeakRefs(self);
  clear_references(context);
  Py_CLEAR(context->function);
  context->needed.~Positions();
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  const ContextObject* const context = downcast(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(context->dict);
  Py_VISIT(context->function);
  Py_VISIT(context->to_save);
  Py_VISIT(context->to_save_forward);
  Py_VISIT(context->dirty);
  Py_VISIT(context->non_differentiable);
  return 0;
}

int clear(PyObject* self) {
  clear_references(downcast(self));
  return 0;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  if (downcast(self)->dict != nullptr && PyObject_GC_IsTracked(self) == 0) PyObject_GC_Track(self);
  return status;
}

PyObject* get_dict(PyObject* self, void* closure) {
  PyObject* const dict = PyObject_GenericGetDict(self, closure);
  if (dict != nullptr && PyObject_GC_IsTracked(self) == 0) PyObject_GC_Track(self);
  return dict;
}

void check_in_forward(const ContextObject* context, const char* method) {
  if (context->in_forward) return;
  throw AutogradError(str("ctx.", method,
                          ": needs a call inside forward() or setup_context(), got one from "
                          "elsewhere"));
}

enum class None : uint8_t { allowed, refused };

/// Stores the arguments of a method of ctx, tensors all.
PyObject* keep(PyObject* self, PyObject* args, PyObject* ContextObject::*slot, const char* method,
               None none) {
  return guarded([&] {
    ContextObject* const context = downcast(self);
    check_in_forward(context, method);
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(args); ++index) {
      PyObject* const item = PyTuple_GET_ITEM(args, index);
      if (is_tensor(item) || (item == Py_None && none == None::allowed)) continue;
      throw DTypeError(str("ctx.", method, ": argument ", index, " must be a Tensor",
                           none == None::allowed ? " or None" : "", ", got ", type_name(item),
                           none == None::allowed
                               ? "\nhint: keep other values as attributes, such as ctx.scale = 2"
                               : ""));
    }
    Py_XSETREF(context->*slot, Py_NewRef(args));
    return Py_NewRef(Py_None);
  });
}
PyObject* save_for_backward(PyObject* self, PyObject* args) {
  return keep(self, args, &ContextObject::to_save, "save_for_backward", None::allowed);
}
PyObject* save_for_forward(PyObject* self, PyObject* args) {
  return keep(self, args, &ContextObject::to_save_forward, "save_for_forward", None::allowed);
}
PyObject* mark_dirty(PyObject* self, PyObject* args) {
  return keep(self, args, &ContextObject::dirty, "mark_dirty", None::refused);
}
PyObject* mark_non_differentiable(PyObject* self, PyObject* args) {
  return keep(self, args, &ContextObject::non_differentiable, "mark_non_differentiable",
              None::refused);
}

PyObject* set_materialize_grads(PyObject* self, PyObject* value) {
  check_in_forward(downcast(self), "set_materialize_grads");
  const int truth = PyObject_IsTrue(value);
  check_status(truth);
  downcast(self)->materializes_grads = truth == 1;
  return Py_NewRef(Py_None);
}

/// The node, kept alive. Throws AutogradError if there is none.
NodePtr<PythonNode> node_of_context(ContextObject* context, const char* attribute) {
  if (context->node != nullptr) return NodePtr<PythonNode>::share(context->node);
  throw AutogradError(str("ctx.", attribute, ": needs a recorded call whose graph is alive, got ",
                          context->in_forward ? "one that has not returned yet"
                                              : "one that was not recorded or is gone"));
}

/// Whether reading the saved tensors gives them up.
bool gives_up(const ContextObject* context) {
  const autograd::NodeRun* const run = run_of(context);
  if (run == nullptr || !run->releases()) return false;
  static PyObject* const name = PyUnicode_InternFromString("clear_saved_tensors_on_access");
  const Ref value(PyObject_GetAttr(context->function, name));
  return PyObject_IsTrue(value.get()) == 1;
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded_attribute([&]() -> PyObject* {
    ContextObject* const context = downcast(self);
    if (context->in_jvp && context->to_save_forward != nullptr) {
      return Py_NewRef(context->to_save_forward);
    }
    const NodePtr<PythonNode> node = node_of_context(context, "saved_tensors");
    return result(node->unpack_saved(gives_up(context)));
  });
}

PyObject* needs_input_grad(PyObject* self, void*) {
  return guarded_attribute([&] {
    const ContextObject* const context = downcast(self);
    const autograd::NodeRun* const run = run_of(context);
    Ref all(PyTuple_New(context->argument_count));
    size_t edge = 0;
    for (uint32_t index = 0; index < context->argument_count; ++index) {
      bool is_needed = context->needed.contains(index);
      if (run != nullptr) {
        const bool is_tensor = context->node->tensor_arguments.contains(index);
        is_needed = is_tensor && run->wants(edge);
        if (is_tensor) ++edge;
      }
      PyTuple_SET_ITEM(all.get(), index, Py_NewRef(is_needed ? Py_True : Py_False));
    }
    return all.release();
  });
}

/// What once_differentiable() makes of the gradients when the run is recorded.
PyObject* refuse_second(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *results, *grads;
    if (PyArg_ParseTuple(args, "OO!", &results, &PyTuple_Type, &grads) == 0) throw ErrorSet();
    const NodePtr<PythonNode> node = node_of_context(downcast(self), "backward");
    const std::vector<Tensor> operands = tensors_in(grads);
    const auto refuse = [&](PyObject* result) -> PyObject* {
      if (!is_tensor(result)) return Py_NewRef(result);
      return wrap(autograd::refuse_derivatives(
          *node, tensor_of(result),
          "backward() is marked once_differentiable, got a derivative of it asked for", operands));
    };
    if (!PyTuple_Check(results)) return refuse(results);
    Ref all(PyTuple_New(PyTuple_GET_SIZE(results)));
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(results); ++index) {
      PyTuple_SET_ITEM(all.get(), index, refuse(PyTuple_GET_ITEM(results, index)));
    }
    return all.release();
  });
}

PyMethodDef kMethods[] = {
    {"save_for_backward", save_for_backward, METH_VARARGS,
     "save_for_backward($self, *tensors)\n--\n\n"
     "Keep tensors (or None) for backward(), where a later write to them is noticed.\n\n"
     "Inputs and outputs keep their history. A derivative through a tensor that is neither is\n"
     "refused: nobody recorded how forward() computed it. A second call replaces the first."},
    {"save_for_forward", save_for_forward, METH_VARARGS,
     "save_for_forward($self, *tensors)\n--\n\nKeep tensors (or None) for jvp()."},
    {"mark_dirty", mark_dirty, METH_VARARGS,
     "mark_dirty($self, *inputs)\n--\n\n"
     "Say which inputs forward() has written to; it must return them."},
    {"mark_non_differentiable", mark_non_differentiable, METH_VARARGS,
     "mark_non_differentiable($self, *outputs)\n--\n\nSay which outputs have no gradient."},
    {"set_materialize_grads",
     one_argument_method<set_materialize_grads, "set_materialize_grads", "value">(), kOnlyArgument,
     "set_materialize_grads($self, value)\n--\n\n"
     "Give backward() zeros for outputs without a gradient (the default), or None."},
    {"_refuse_second", refuse_second, METH_VARARGS, nullptr},
    {},
};
PyGetSetDef kAttributes[] = {
    {"saved_tensors", saved_tensors, nullptr,
     "What save_for_backward() kept, as a tuple; in jvp(), what save_for_forward() kept.", nullptr},
    {"needs_input_grad", needs_input_grad, nullptr,
     "A bool per argument of forward(): whether its gradient is wanted; in backward(), whether\n"
     "this run wants it.",
     nullptr},
    {"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};
PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, weaklist), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

void add_context_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("What the methods of one call of a Function share."
                                    "\n\nExample:\n"
                                    "    >>> class Double(ebb.autograd.Function):\n"
                                    "    ...     @staticmethod\n"
                                    "    ...     def forward(ctx, x):\n"
                                    "    ...         ctx.factor = 2.0\n"
                                    "    ...         return x * 2\n"
                                    "    ...     @staticmethod\n"
                                    "    ...     def backward(ctx, grad_out):\n"
                                    "    ...         return grad_out * ctx.factor\n"
                                    "    >>> x = ebb.ones(1, requires_grad=True)\n"
                                    "    >>> Double.apply(x).backward()\n"
                                    "    >>> x.grad\n"
                                    "    tensor([2.])\n")},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_traverse, as_slot(traverse)},
      {Py_tp_clear, as_slot(clear)},
      {Py_tp_setattro, as_slot(set_attribute)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {Py_tp_members, kMembers},
      {0, nullptr},
  };
  context_type = add_type(
      module, {"ebb.autograd.FunctionCtx", sizeof(ContextObject), 0,
               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots});
}

}  // namespace ebb::python
