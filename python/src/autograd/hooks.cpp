// python/src/autograd/hooks.cpp -- calling Python from a run: hooks, their handles, and the
// collector.
#include "python/src/autograd/hooks.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/hooks/gradient_gate.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/hooks/multi_grad_hook.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "python/src/autograd/hook_handle.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/base/python_error.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

using autograd::HookCall;
using autograd::HookKind;
using autograd::HookTable;
using autograd::Node;

// While no Python function hangs on any node, the collector has nothing to look for.
std::atomic<int64_t> live_functions{0};

/// Owns a function, and lets go of it on any thread.
class Function {
 public:
  explicit Function(PyObject* function) : object_(Py_NewRef(function)) { ++live_functions; }
  ~Function() {
    --live_functions;
    call_with_gil([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); }, object_);
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

/// What people call a function: its __name__ if it has one, else its type.
std::string name_of(PyObject* function) {
  const AcquireGil gil;
  PyObject* const name = PyObject_GetAttrString(function, "__name__");
  const std::string text = label_of(name, Py_TYPE(function)->tp_name);
  Py_XDECREF(name);
  PyErr_Clear();
  return text;
}

Ref to_tuple(std::span<const Tensor> tensors) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t index = 0; index < tensors.size(); ++index) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(index), wrap(tensors[index]));
  }
  return tuple;
}

/// A Python function as a hook.
class PythonHook final : public autograd::Hook {
 public:
  explicit PythonHook(PyObject* function) : function_(function) {}
  void call(const HookCall& call) override {
    call_python([&] {
      if (call.kind == HookKind::tensor || call.kind == HookKind::post_accumulate) {
        call_with_one(call);
      } else {
        call_with_tuples(call);
      }
    });
  }
  std::string name() const override { return name_of(function_.get()); }
  void* front_end_object() const override { return function_.get(); }

 private:
  void call_with_one(const HookCall& call) {
    const Ref argument(wrap(call.grads[0]));
    const Ref result(call_function(function_.get(), argument.get()));
    if (result.get() == Py_None) return;
    if (call.kind == HookKind::post_accumulate) {
      throw DTypeError(str("post-accumulate hook ", in_quotes(name()), ": must return None, got ",
                           type_name(result.get())));
    }
    call.grads[0] = to_gradient(result.get());
  }

  void call_with_tuples(const HookCall& call) {
    const Ref grads = to_tuple(call.grads);
    Ref result;
    if (call.kind == HookKind::pre) {
      result = Ref(call_function(function_.get(), grads.get()));
    } else {
      const Ref grad_outs = to_tuple(call.grad_outs);
      result = Ref(call_function(function_.get(), grads.get(), grad_outs.get()));
    }
    if (result.get() == Py_None) return;
    const bool is_single = is_tensor(result.get()) && call.grads.size() == 1;
    if (is_single) {
      call.grads[0] = tensor_of(result.get());
      return;
    }
    if (!PyTuple_Check(result.get()) && !PyList_Check(result.get())) {
      throw DTypeError(str("node hook ", in_quotes(name()),
                           ": must return None or a tuple of gradients, got ",
                           type_name(result.get())));
    }
    const Ref values(PySequence_Tuple(result.get()));
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(values.get()));
    if (count != call.grads.size()) {
      throw ValueError(str("node hook ", in_quotes(name()), ": must return ", call.grads.size(),
                           " gradients, got ", count));
    }
    for (size_t index = 0; index < count; ++index) {
      PyObject* const value = PyTuple_GET_ITEM(values.get(), static_cast<Py_ssize_t>(index));
      call.grads[index] = value == Py_None ? Tensor() : to_gradient(value);
    }
  }

  Tensor to_gradient(PyObject* value) const {
    if (is_tensor(value)) return tensor_of(value);
    throw DTypeError(
        str("hook ", in_quotes(name()), ": must return a Tensor or None, got ", type_name(value)));
  }

  Function function_;
};

/// The part of a multi-grad hook that belongs to one tensor. Each part owns a count of the
/// function, so that what the collector counts adds up.
class PythonMultiGradHook final : public autograd::MultiGradHook {
 public:
  PythonMultiGradHook(std::shared_ptr<autograd::MultiGradGroup> group, size_t position,
                      autograd::MultiGradMode mode, PyObject* function)
      : MultiGradHook(std::move(group), position), mode_(mode), function_(function) {}
  std::string name() const override { return name_of(function_.get()); }
  void* front_end_object() const override { return function_.get(); }

 protected:
  void finish(std::span<const Tensor> grads) override {
    call_python([&] {
      Ref argument;
      if (mode_ == autograd::MultiGradMode::any) {
        argument = Ref(wrap(grads[0]));
      } else {
        argument = Ref(PySequence_List(to_tuple(grads).get()));
      }
      const Ref result(call_function(function_.get(), argument.get()));
    });
  }

 private:
  autograd::MultiGradMode mode_;
  Function function_;
};

/// The part of a gate's hook that belongs to one node: hook(grads, entered) -> a tuple or None.
class PythonGateHook final : public autograd::GateHook {
 public:
  PythonGateHook(std::shared_ptr<autograd::GateGroup> group, size_t member, PyObject* function,
                 std::string module)
      : GateHook(std::move(group), member), function_(function), module_(std::move(module)) {}
  std::string name() const override { return module_; }
  void* front_end_object() const override { return function_.get(); }

 protected:
  void pass(std::span<Tensor> grads, std::span<const Tensor> entered) override {
    call_python([&] {
      const Ref result(
          call_function(function_.get(), to_tuple(grads).get(), to_tuple(entered).get()));
      if (result.get() == Py_None) return;
      for (size_t index = 0; index < grads.size(); ++index) {
        PyObject* const value = PyTuple_GetItem(result.get(), static_cast<Py_ssize_t>(index));
        grads[index] = checked(value) == Py_None ? Tensor() : tensor_of(value);
      }
    });
  }

 private:
  Function function_;
  std::string module_;
};

void check_callable(const char* op, PyObject* hook) {
  if (PyCallable_Check(hook) == 0) {
    throw DTypeError(str(op, ": needs a callable, got ", type_name(hook)));
  }
}

template <typename Register>
PyObject* register_with(const char* op, PyObject* hook, Register&& add) {
  return guarded([&] {
    check_callable(op, hook);
    return make_handle({add(std::make_shared<PythonHook>(hook))});
  });
}

/// _register_multi_grad_hook(tensors, hook, is_any)
PyObject* register_multi(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors = nullptr, *hook = nullptr;
    int is_any = 0;
    if (PyArg_ParseTuple(args, "O!Op", &PyTuple_Type, &tensors, &hook, &is_any) == 0) {
      return nullptr;
    }
    check_callable("register_multi_grad_hook", hook);
    std::vector<Tensor> targets;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tensors); ++index) {
      PyObject* const item = PyTuple_GET_ITEM(tensors, index);
      if (!is_tensor(item)) {
        throw DTypeError(str("register_multi_grad_hook: needs Tensors, got ", type_name(item),
                             " at position ", index));
      }
      targets.push_back(tensor_of(item));
    }
    const auto mode = is_any != 0 ? autograd::MultiGradMode::any : autograd::MultiGradMode::all;
    const autograd::HookHandles handles = autograd::add_multi_grad_hook(
        targets, mode, [&](std::shared_ptr<autograd::MultiGradGroup> group, size_t position) {
          track_tensor(PyTuple_GET_ITEM(tensors, static_cast<Py_ssize_t>(position)));
          return std::make_shared<PythonMultiGradHook>(std::move(group), position, mode, hook);
        });
    return make_handle({handles.handles().begin(), handles.handles().end()});
  });
}

std::vector<autograd::GradientEdge> to_edges(PyObject* tuple) {
  std::vector<autograd::GradientEdge> edges;
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); ++index) {
    PyObject* const edge = PyTuple_GET_ITEM(tuple, index);
    const int64_t number = to_int64(PyTuple_GET_ITEM(edge, 1));
    edges.push_back({autograd::NodePtr<Node>::share(&node_of(PyTuple_GET_ITEM(edge, 0))),
                     static_cast<uint32_t>(number)});
  }
  return edges;
}

autograd::MakeGateHook gate_hook_of(PyObject* function, const char* module) {
  return [=](std::shared_ptr<autograd::GateGroup> group, size_t member) {
    return std::make_shared<PythonGateHook>(std::move(group), member, function, module);
  };
}

/// _register_gates(outputs, edges, since, enter, leave, module): the number of nodes recorded since
/// then that send to the edges. With none, or where `leave` is None, there is no gate for them.
PyObject* register_gates(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs = nullptr, *edges = nullptr, *enter = nullptr, *leave = nullptr;
    unsigned long long since = 0;
    const char* module = nullptr;
    if (PyArg_ParseTuple(args, "O!O!KOOs", &PyTuple_Type, &outputs, &PyTuple_Type, &edges, &since,
                         &enter, &leave, &module) == 0) {
      return nullptr;
    }
    const std::vector<Tensor> tensors = to_tensors("_register_gates", outputs);
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(outputs); ++index) {
      track_tensor(PyTuple_GET_ITEM(outputs, index));  // it may be part of a cycle from now on
    }
    auto entry = autograd::add_entry_gate(tensors, gate_hook_of(enter, module));
    if (leave == Py_None) return PyLong_FromLong(0);
    return PyLong_FromSize_t(autograd::add_exit_gate(
        tensors, to_edges(edges), since, std::move(entry), gate_hook_of(leave, module)));
  });
}

PyObject* next_sequence(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(autograd::next_sequence());
}

PyMethodDef kFunctions[] = {
    {"_register_gates", register_gates, METH_VARARGS, nullptr},
    {"_next_sequence", next_sequence, METH_NOARGS, nullptr},
    {"_register_multi_grad_hook", register_multi, METH_VARARGS, nullptr},
    {},
};

/// Nodes below `node` that the same owners keep alive, `node` first.
template <typename See>
void walk_owned(Node* node, uint32_t owners, See&& see) {
  if (node == nullptr || live_functions.load(std::memory_order_relaxed) == 0) return;
  if (node->owner_count() != owners) return;
  std::vector<Node*> stack{node};
  while (!stack.empty()) {
    Node* const next = stack.back();
    stack.pop_back();
    if (next->extra() != nullptr && !see(*next)) return;
    for (const autograd::Edge& edge : next->edges()) {
      if (edge.node != nullptr && edge.node->owner_count() == 1) stack.push_back(edge.node);
    }
  }
}

}  // namespace

PyObject* tensor_register_hook(PyObject* self, PyObject* hook) {
  return register_with("register_hook", hook, [&](std::shared_ptr<autograd::Hook> made) {
    track_tensor(self);
    return autograd::add_tensor_hook(tensor_of(self), std::move(made));
  });
}

PyObject* tensor_register_post_accumulate_hook(PyObject* self, PyObject* hook) {
  const char* const op = "register_post_accumulate_grad_hook";
  return register_with(op, hook, [&](std::shared_ptr<autograd::Hook> made) {
    track_tensor(self);
    return autograd::add_post_accumulate_hook(tensor_of(self), std::move(made));
  });
}

PyObject* node_register_hook(PyObject* self, PyObject* hook) {
  return register_with("register_hook", hook, [&](std::shared_ptr<autograd::Hook> made) {
    return autograd::add_node_hook(node_of(self), HookKind::post, std::move(made));
  });
}

PyObject* node_register_prehook(PyObject* self, PyObject* hook) {
  return register_with("register_prehook", hook, [&](std::shared_ptr<autograd::Hook> made) {
    return autograd::add_node_hook(node_of(self), HookKind::pre, std::move(made));
  });
}

int visit_hooks(Node* node, uint32_t owners, visitproc visit, void* arg) {
  int status = 0;
  walk_owned(node, owners, [&](Node& owned) {
    for (const auto hooks = owned.extra()->hooks->snapshot(); const auto& entry : *hooks) {
      auto* const function = static_cast<PyObject*>(entry.hook->front_end_object());
      if (function != nullptr && status == 0) status = visit(function, arg);
    }
    return status == 0;
  });
  return status;
}

void clear_hooks(Node* node, uint32_t owners) {
  std::vector<std::shared_ptr<HookTable>> tables;  // emptying one may change the graph
  walk_owned(node, owners, [&](Node& owned) {
    tables.push_back(owned.extra()->hooks);
    return true;
  });
  for (const std::shared_ptr<HookTable>& table : tables) table->clear();
}

void add_hooks(PyObject* module) {
  add_handle_type(module);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
