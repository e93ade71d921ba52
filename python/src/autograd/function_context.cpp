// python/src/autograd/function_context.cpp -- the type of ctx.
#include "python/src/autograd/function_context.h"

#include <structmember.h>

#include <string>

#include "ebb/core/base/error.h"
#include "python/src/autograd/function_node.h"
#include "python/src/base/text.h"
#include "python/src/calls/error_names.h"
#include "python/src/calls/errors.h"
#include "python/src/tensor/object.h"

namespace ebb::python {

PyTypeObject* context_type = nullptr;

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
  return guarded([&] {
    check_in_forward(downcast(self), "set_materialize_grads");
    const int truth = PyObject_IsTrue(value);
    check_status(truth);
    downcast(self)->materializes_grads = truth == 1;
    return Py_NewRef(Py_None);
  });
}

/// The node, kept alive. Throws AutogradError if there is none.
NodePtr<PythonNode> node_of_context(ContextObject* context, const char* attribute) {
  if (context->node != nullptr) return NodePtr<PythonNode>::share(context->node);
  throw AutogradError(str("ctx.", attribute, ": needs a recorded call whose graph is alive, got ",
                          context->in_forward ? "one that has not returned yet"
                                              : "one that was not recorded or is gone"));
}

PyObject* tuple_of(std::vector<Tensor> tensors) {
  Ref all(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t index = 0; index < tensors.size(); ++index) {
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(index), wrap(std::move(tensors[index])));
  }
  return all.release();
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
    return tuple_of(node->unpack_saved(gives_up(context)));
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
    {"set_materialize_grads", set_materialize_grads, METH_O,
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

IntermediatesScope::IntermediatesScope(ContextObject* context) : context_(context) {
  if (context->intermediates == nullptr || context->dict == nullptr) return;
  Ref originals(PyDict_New());
  Ref replacements(PyDict_New());
  for (Py_ssize_t index = 0; index < PyList_GET_SIZE(context->intermediates); ++index) {
    PyObject* const name = PyList_GET_ITEM(context->intermediates, index);
    PyObject* const value = PyDict_GetItemWithError(context->dict, name);
    if (value == nullptr) continue;
    const std::string text(PyUnicode_Check(name) ? utf8_of(name) : "attribute");
    const Ref alias = refusing(*context->node, text.c_str(), value);
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

void add_context_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("What the methods of one call of a Function share.")},
      {Py_tp_dealloc, as_slot(dealloc)},
      {Py_tp_traverse, as_slot(traverse)},
      {Py_tp_clear, as_slot(clear)},
      {Py_tp_setattro, as_slot(set_attribute)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {Py_tp_members, kMembers},
      {0, nullptr},
  };
  PyType_Spec spec = {"ebb.autograd.FunctionCtx", sizeof(ContextObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  context_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  check_status(
      PyModule_AddObjectRef(module, "FunctionCtx", reinterpret_cast<PyObject*>(context_type)));
}

}  // namespace ebb::python
