// python/src/autograd/run_queries.cpp -- current_graph_task_id() and its like; queue_callback().
#include "python/src/autograd/run_queries.h"

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/hooks/active_run.h"
#include "ebb/core/base/error.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/python_error.h"

namespace ebb::python {
namespace {

autograd::ActiveRun& run_for(const char* op) {
  autograd::ActiveRun* const run = autograd::active_run();
  if (run != nullptr) return *run;
  throw AutogradError(str(op, ": needs a running backward() or grad(), got a call outside of one"));
}

PyObject* task_id(PyObject*, PyObject*) {
  autograd::ActiveRun* const run = autograd::active_run();
  return run == nullptr ? PyLong_FromLong(-1) : PyLong_FromUnsignedLongLong(run->id());
}

PyObject* current_node(PyObject*, PyObject*) {
  autograd::ActiveRun* const run = autograd::active_run();
  return wrap_node(run == nullptr ? nullptr : run->current_node());
}

PyObject* keeps_graph(PyObject*, PyObject*) {
  return PyBool_FromLong(run_for("current_graph_task_keep_graph").keeps_graph() ? 1 : 0);
}

PyObject* execution_order(PyObject*, PyObject*) {
  const auto nodes = run_for("current_graph_task_execution_order").execution_order();
  Ref list(PyList_New(static_cast<Py_ssize_t>(nodes.size())));
  for (size_t index = 0; index < nodes.size(); ++index) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index), wrap_node(nodes[index].get()));
  }
  return list.release();
}

PyObject* will_execute(PyObject*, PyObject* node) {
  const char* const op = "will_engine_execute_node";
  if (!is_node(node)) throw DTypeError(str(op, ": needs a Node, got ", type_name(node)));
  return PyBool_FromLong(run_for(op).will_execute(node_of(node)) ? 1 : 0);
}

PyObject* queue(PyObject*, PyObject* callback) {
  if (PyCallable_Check(callback) == 0) {
    throw DTypeError(str("queue_callback: needs a callable, got ", type_name(callback)));
  }
  const std::shared_ptr<PyObject> function(Py_NewRef(callback), [](PyObject* owned) {
    call_with_gil([](void* object) { Py_DECREF(static_cast<PyObject*>(object)); }, owned);
  });
  autograd::queue_callback(
      [function] { call_python([&] { const Ref result(call_function(function.get())); }); });
  return Py_NewRef(Py_None);
}

PyObject* set_atomic(PyObject*, PyObject* is_atomic) {
  const bool before = is_accumulation_atomic();
  set_accumulation_atomic(is_atomic == Py_True);
  return PyBool_FromLong(before ? 1 : 0);
}

PyMethodDef kFunctions[] = {
    {"queue_callback", one_argument_method<queue, "queue_callback", "callback">(), kOnlyArgument,
     "queue_callback($module, callback)\n--\n\n"
     "Call `callback()` once at the end of the innermost run, after all gradients were added.\n\n"
     "It may queue more; what it raises reaches the caller of the run.\n\n"
     "Raises:\n    AutogradError: If no run is going on in this thread.\n"
     "\nExample:\n"
     "    >>> x = ebb.ones(1, requires_grad=True)\n"
     "    >>> def at_the_end():\n"
     "    ...     print(\"all added:\", x.grad)\n"
     "    >>> handle = x.register_hook(lambda grad: ebb.autograd.queue_callback(at_the_end))\n"
     "    >>> (3 * x).sum().backward()\n"
     "    all added: tensor([3.])\n"},
    {"_current_graph_task_id", task_id, METH_NOARGS, nullptr},
    {"_current_autograd_node", guarded_method<current_node>(), METH_NOARGS, nullptr},
    {"_current_graph_task_keep_graph", guarded_method<keeps_graph>(), METH_NOARGS, nullptr},
    {"_current_graph_task_execution_order", guarded_method<execution_order>(), METH_NOARGS,
     nullptr},
    {"_will_engine_execute_node", guarded_method<will_execute>(), METH_O, nullptr},
    {"_set_accumulation_atomic", set_atomic, METH_O, nullptr},
    {},
};

}  // namespace

void add_run_queries(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
