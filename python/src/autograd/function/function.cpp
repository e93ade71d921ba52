// python/src/autograd/function/function.cpp -- Function.apply: calls forward() and records the
// call.
//
// A class has either forward(ctx, ...), or forward(...) and setup_context(ctx, inputs, output).
// Both run without recording; what they marked and returned then goes to autograd::connect().
// Start reading at apply().
#include "python/src/autograd/function/function.h"

#include <optional>
#include <span>
#include <string>

#include "ebb/autograd/custom/custom_jvp.h"
#include "ebb/autograd/custom/custom_node.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/core/base/error.h"
#include "python/src/autograd/function/function_context.h"
#include "python/src/autograd/function/function_context_type.h"
#include "python/src/autograd/function/function_intermediates.h"
#include "python/src/autograd/function/function_jvp.h"
#include "python/src/autograd/function/function_node.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/overrides.h"

namespace ebb::python {
namespace {

PyObject *forward_name, *setup_context_name;

const char* name_of(PyObject* function) {
  return reinterpret_cast<PyTypeObject*>(function)->tp_name;
}

/// A few tensors without memory of their own, or many.
class TensorList {
 public:
  explicit TensorList(size_t count) : count_(count) {
    if (count > std::size(few_)) many_.resize(count);
  }
  Tensor& operator[](size_t index) { return data()[index]; }
  std::span<Tensor> first(size_t count) { return {data(), count}; }
  std::span<Tensor> all() { return first(count_); }

 private:
  Tensor* data() { return many_.empty() ? few_ : many_.data(); }
  Tensor few_[4];
  std::vector<Tensor> many_;
  size_t count_;
};

/// One call of apply(), with its arguments in order.
class Call {
 public:
  Call(PyObject* function, std::span<PyObject* const> arguments)
      : function_(function),
        arguments_(arguments),
        context_(make_context(function)),
        inputs_(arguments.size()) {
    ContextObject* const context = context_of(context_);
    context->argument_count = static_cast<uint32_t>(arguments.size());
    for (size_t index = 0; index < arguments.size(); ++index) {
      if (!is_tensor(arguments[index])) continue;
      const Tensor& input = tensor_of(arguments[index]);
      tensor_arguments_.add(index);
      if (input.requires_grad()) context->needed.add(index);
      inputs_[input_count_++] = input;
    }
    if (!autograd::carries_tangent(inputs_.first(input_count_))) return;
    check_has_jvp(context);
    jvp_.emplace(inputs_.first(input_count_));
  }

  /// forward(ctx, ...).
  Ref call_with_context(PyObject* forward) {
    const ForwardScope scope(context_of(context_));
    constexpr size_t kFew = 6;
    PyObject* few[kFew + 2];
    std::vector<PyObject*> many;
    const size_t count = arguments_.size();
    if (count > kFew) many.resize(count + 2);
    PyObject** const all = (count > kFew ? many.data() : few) + 1;  // slot 0 is the callee's
    all[0] = context_.get();
    std::copy(arguments_.begin(), arguments_.end(), all + 1);
    return Ref(call_vector(forward, all, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET));
  }

  /// forward(...), then setup_context(ctx, inputs, output).
  Ref call_and_set_up(PyObject* forward, PyObject* setup_context) {
    const ForwardScope scope(context_of(context_));
    Ref output(call_vector(forward, arguments_.data(), arguments_.size()));
    const Ref inputs(PyTuple_New(static_cast<Py_ssize_t>(arguments_.size())));
    for (size_t index = 0; index < arguments_.size(); ++index) {
      PyTuple_SET_ITEM(inputs.get(), static_cast<Py_ssize_t>(index), Py_NewRef(arguments_[index]));
    }
    PyObject* const all[] = {context_.get(), inputs.get(), output.get()};
    const Ref none(call_vector(setup_context, all, 3));
    return output;
  }

  /// What apply() returns: `result` of forward(), recorded.
  PyObject* finish(Ref result) {
    if (!PyTuple_Check(result.get())) {
      PyObject* const item = result.get();
      const Ref recorded = record({&item, 1});
      return Py_NewRef(recorded ? PyTuple_GET_ITEM(recorded.get(), 0) : item);
    }
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(result.get()));
    Ref recorded = record({PySequence_Fast_ITEMS(result.get()), count});
    return recorded ? recorded.release() : result.release();
  }

 private:
  /// forward() and setup_context() run without recording.
  class ForwardScope {
   public:
    explicit ForwardScope(ContextObject* context) : context_(context) {
      context->in_forward = true;
    }
    ~ForwardScope() { context_->in_forward = false; }
    ForwardScope(const ForwardScope&) = delete;
    ForwardScope& operator=(const ForwardScope&) = delete;

   private:
    ContextObject* context_;
    NoGradGuard guard_;
  };

  /// Records the call. Returns a tuple of the outputs if one was exchanged, else nothing.
  Ref record(std::span<PyObject* const> items) {
    ContextObject* const context = context_of(context_);
    TensorList outputs(items.size());
    bool has_tensor = false;
    for (size_t index = 0; index < items.size(); ++index) {
      if (!is_tensor(items[index])) continue;
      outputs[index] = tensor_of(items[index]);
      has_tensor = true;
    }
    const autograd::CustomMarks marks{
        .saved = tensors_in(context->to_save),
        .dirty = tensors_in(context->dirty),
        .non_differentiable = tensors_in(context->non_differentiable)};
    const std::span<Tensor> inputs = inputs_.first(input_count_);
    const autograd::CustomCall call{name_of(function_), inputs, outputs.all(), marks};
    const bool is_recorded = has_tensor && autograd::is_custom_recorded(inputs);
    autograd::check_custom_marks(call, is_recorded);
    const LocationId location = current_location(nullptr);
    if (is_recorded) {
      connect(call, location);
    } else {
      autograd::leave_unconnected(call, location);
    }
    if (jvp_) propagate_tangents(context, tensor_arguments_, *jvp_, call);
    forget_marks(context);
    if (is_recorded && may_close_cycle(context)) return exchange(items, outputs, true);
    return exchange(items, outputs, false);
  }

  void connect(const autograd::CustomCall& call, LocationId location) {
    const autograd::NodeLayout layout = autograd::layout_of(call, sizeof(PythonNode));
    auto node = autograd::make_node<PythonNode>(layout.edges, layout.outputs,
                                                static_cast<int>(layout.meta_words) - 1);
    node->tensor_arguments = tensor_arguments_;
    for (size_t index = 0; index < call.outputs.size(); ++index) {
      if (call.outputs[index].defined()) node->tensor_outputs.add(index);
    }
    ContextObject* const context = context_of(context_);
    Py_INCREF(context_.get());
    node->adopt(context);
    autograd::connect(autograd::NodePtr<autograd::CustomNode>(node.leak()), call, location);
    look_for_intermediates(context, call.inputs, call.outputs);
  }

  static Ref exchange(std::span<PyObject* const> items, TensorList& outputs, bool is_collectable) {
    Ref all;
    for (size_t index = 0; index < items.size(); ++index) {
      Tensor& out = outputs[index];
      if (!out.defined()) continue;
      const bool is_other = !out.is_same(tensor_of(items[index]));
      PyObject* item = items[index];
      if (is_other) {
        if (!all) all = copied(items);
        item = wrap(std::move(out));
        Py_SETREF(PySequence_Fast_ITEMS(all.get())[index], item);
      }
      if (is_collectable) track_tensor(item);
    }
    return all;
  }

  static Ref copied(std::span<PyObject* const> items) {
    Ref all(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t index = 0; index < items.size(); ++index) {
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(index), Py_NewRef(items[index]));
    }
    return all;
  }

  PyObject* const function_;
  const std::span<PyObject* const> arguments_;
  const Ref context_;
  TensorList inputs_;
  size_t input_count_ = 0;
  Positions tensor_arguments_;
  std::optional<autograd::CustomJvp> jvp_;  // if an input carries a tangent
};

/// Whether the arguments fill the parameters of `forward` one by one, without defaults.
bool fits_as_it_is(PyObject* forward, Py_ssize_t count, PyObject* names) {
  if (names != nullptr && PyTuple_GET_SIZE(names) > 0) return false;
  const bool is_method = PyMethod_Check(forward);  // a class method; its class is one argument
  PyObject* const function = is_method ? PyMethod_GET_FUNCTION(forward) : forward;
  if (!PyFunction_Check(function)) return false;
  const auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
  if (code->co_kwonlyargcount > 0) return false;
  const Py_ssize_t given = count + (is_method ? 1 : 0);
  const bool takes_any = (code->co_flags & CO_VARARGS) != 0;
  return takes_any ? given >= code->co_argcount : given == code->co_argcount;
}

/// Calls `callee(first, args, kwargs)` with the arguments of a call as a tuple and a dict.
Ref call_with_arguments(PyObject* callee, PyObject* first, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) {
  const Ref positional(PyTuple_New(count));
  for (Py_ssize_t index = 0; index < count; ++index) {
    PyTuple_SET_ITEM(positional.get(), index, Py_NewRef(args[index]));
  }
  const Ref keywords(PyDict_New());
  for (Py_ssize_t index = 0; names != nullptr && index < PyTuple_GET_SIZE(names); ++index) {
    check_status(
        PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, index), args[count + index]));
  }
  return Ref(call_function(callee, first, positional.get(), keywords.get()));
}

/// All arguments of forward() in order, defaults and keywords included.
Ref bind_arguments(PyObject* forward, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Ref module(PyImport_ImportModule("ebb.autograd.function"));
  const Ref bind(PyObject_GetAttrString(module.get(), "bind_arguments"));
  return call_with_arguments(bind.get(), forward, args, count, names);
}

/// The argument whose class makes calls of Function.apply itself, by `__ebb_apply__`: a sample
/// under vmap. Other subclasses go in as tensors. Null if there is none.
PyObject* applying_argument(PyObject* const* args, Py_ssize_t count) {
  if (!detail::overrides_exist) return nullptr;
  const Ref name(PyUnicode_InternFromString("__ebb_apply__"));
  for (Py_ssize_t index = 0; index < count; ++index) {
    const bool applies =
        has_override(args[index]) && _PyType_Lookup(Py_TYPE(args[index]), name.get()) != nullptr;
    if (applies) return args[index];
  }
  return nullptr;
}

PyObject* apply(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
    if (PyObject* const applying = applying_argument(args, all); applying != nullptr) [[unlikely]] {
      const Ref method(PyObject_GetAttrString(applying, "__ebb_apply__"));
      return call_with_arguments(method.get(), function, args, count, names).release();
    }
    const Ref forward(PyObject_GetAttr(function, forward_name));
    if (forward.get() == function_defaults.forward) {
      throw NotImplementedError(
          str(name_of(function), ".apply: needs a static method forward(), got a class without"));
    }
    const Ref setup_context(PyObject_GetAttr(function, setup_context_name));
    if (setup_context.get() == function_defaults.setup_context) {
      if (names != nullptr && PyTuple_GET_SIZE(names) > 0) {
        throw DTypeError(str(name_of(function), ".apply: needs arguments by position, got '",
                             utf8_of(PyTuple_GET_ITEM(names, 0)),
                             "' by name\nhint: a class with setup_context() takes names"));
      }
      Call call(function, {args, static_cast<size_t>(count)});
      return call.finish(call.call_with_context(forward.get()));
    }
    if (fits_as_it_is(forward.get(), count, names)) {
      Call call(function, {args, static_cast<size_t>(count)});
      return call.finish(call.call_and_set_up(forward.get(), setup_context.get()));
    }
    const Ref bound = bind_arguments(forward.get(), args, count, names);
    Call call(function, {PySequence_Fast_ITEMS(bound.get()),
                         static_cast<size_t>(PySequence_Fast_GET_SIZE(bound.get()))});
    return call.finish(call.call_and_set_up(forward.get(), setup_context.get()));
  });
}

PyObject* refuse_instance(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(error_classes.dtype,
               "%s: needs no instance, got one asked for\n"
               "hint: write forward() and backward() as static methods and call %s.apply(...)",
               type->tp_name, type->tp_name);
  return nullptr;
}

PyObject* missing_method(const char* name) {
  PyErr_Format(error_classes.not_implemented,
               "Function: needs a static method %s() of the derived class, got none", name);
  return nullptr;
}
PyObject* no_forward(PyObject*, PyObject*, PyObject*) { return missing_method("forward"); }
PyObject* no_setup(PyObject*, PyObject*, PyObject*) { return missing_method("setup_context"); }
PyObject* no_backward(PyObject*, PyObject*, PyObject*) { return missing_method("backward"); }
PyObject* no_vjp(PyObject*, PyObject*, PyObject*) { return missing_method("vjp"); }
PyObject* no_jvp(PyObject*, PyObject*, PyObject*) { return missing_method("jvp"); }
PyObject* no_vmap(PyObject*, PyObject*, PyObject*) { return missing_method("vmap"); }

constexpr int kStatic = METH_VARARGS | METH_KEYWORDS | METH_STATIC;
PyMethodDef kMethods[] = {
    {"apply", as_method(apply), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "apply($type, /, *args, **kwargs)\n--\n\n"
     "Call forward() and record the call.\n\n"
     "Gradients flow to the tensors among the arguments, not to those inside lists."},
    {"forward", as_method(no_forward), kStatic,
     "forward(ctx, *args)\n--\n\nCompute the outputs; not recorded. Without `ctx` if there is a\n"
     "setup_context()."},
    {"setup_context", as_method(no_setup), kStatic,
     "setup_context(ctx, inputs, output)\n--\n\nSave what backward() needs."},
    {"backward", as_method(no_backward), kStatic,
     "backward(ctx, *grad_outputs)\n--\n\nReturn a gradient or None per argument of forward()."},
    {"vjp", as_method(no_vjp), kStatic,
     "vjp(ctx, *grad_outputs)\n--\n\nAnother name for backward()."},
    {"jvp", as_method(no_jvp), kStatic,
     "jvp(ctx, *grad_inputs)\n--\n\nReturn a tangent or None per output."},
    {"vmap", as_method(no_vmap), kStatic,
     "vmap(info, in_dims, *args)\n--\n\nCompute over a batch; accepted, not used yet."},
    {},
};

constexpr const char* kDoc =
    "An operation with a derivative of your own.\n\n"
    "Derive a class with static methods `forward` and `backward`, and call its `apply`. What\n"
    "forward() does is not recorded; backward() is, under create_graph, so that it can be\n"
    "differentiated again.\n\n"
    "Example:\n"
    "    >>> class Square(ebb.autograd.Function):\n"
    "    ...     @staticmethod\n"
    "    ...     def forward(ctx, x):\n"
    "    ...         ctx.save_for_backward(x)\n"
    "    ...         return x * x\n"
    "    ...     @staticmethod\n"
    "    ...     def backward(ctx, grad):\n"
    "    ...         (x,) = ctx.saved_tensors\n"
    "    ...         return grad * x * 2\n"
    "    >>> x = ebb.tensor(3.0, requires_grad=True)\n"
    "    >>> Square.apply(x).backward()\n"
    "    >>> x.grad.item()\n"
    "    6.0\n";

}  // namespace

void add_function(PyObject* module) {
  add_context_type(module);
  forward_name = checked(PyUnicode_InternFromString("forward"));
  setup_context_name = checked(PyUnicode_InternFromString("setup_context"));
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, as_slot(refuse_instance)},
      {Py_tp_methods, kMethods},
      {0, nullptr},
  };
  PyType_Spec spec = {"ebb.autograd.Function", sizeof(PyObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject* const type = checked(PyType_FromSpec(&spec));
  check_status(PyObject_SetAttrString(type, "generate_vmap_rule", Py_False));
  check_status(PyObject_SetAttrString(type, "clear_saved_tensors_on_access", Py_False));
  function_defaults = {.forward = checked(PyObject_GetAttr(type, forward_name)),
                       .setup_context = checked(PyObject_GetAttr(type, setup_context_name)),
                       .backward = checked(PyObject_GetAttrString(type, "backward")),
                       .vjp = checked(PyObject_GetAttrString(type, "vjp")),
                       .jvp = checked(PyObject_GetAttrString(type, "jvp"))};
  check_status(PyModule_AddObjectRef(module, "Function", type));
}

}  // namespace ebb::python
