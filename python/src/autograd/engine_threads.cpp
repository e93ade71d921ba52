// python/src/autograd/engine_threads.cpp -- see engine_threads.h.
#include "python/src/autograd/engine_threads.h"

#include <thread>

#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/parallel_backward.h"
#include "python/src/base/python_error.h"

namespace ebb::python {
namespace {

// Python runs signal handlers on this thread only.
std::thread::id main_thread;

void look_for_signals() {
  if (std::this_thread::get_id() != main_thread || !interpreter_is_alive()) return;
  call_python([] {
    if (PyErr_CheckSignals() != 0) throw ErrorSet();
  });
}

PyObject* set_parallel(PyObject*, PyObject* mode) {
  const int truth = PyObject_IsTrue(mode);
  if (truth < 0) return nullptr;
  const bool before = is_parallel_backward();
  set_parallel_backward(truth == 1);
  return PyBool_FromLong(before);
}

PyObject* is_parallel(PyObject*, PyObject*) { return PyBool_FromLong(is_parallel_backward()); }

PyObject* set_eager(PyObject*, PyObject* mode) {
  const int truth = PyObject_IsTrue(mode);
  if (truth < 0) return nullptr;
  set_eager_teams(truth == 1);
  Py_RETURN_NONE;
}

PyObject* counts(PyObject*, PyObject*) {
  const BackwardThreads counted = backward_threads();
  return Py_BuildValue("{sKsKsK}", "teams", static_cast<unsigned long long>(counted.teams),
                       "nodes_by_others", static_cast<unsigned long long>(counted.nodes_by_others),
                       "device_nodes", static_cast<unsigned long long>(counted.device_nodes));
}

PyMethodDef kFunctions[] = {
    {"_set_parallel_backward", set_parallel, METH_O, nullptr},
    {"_set_eager_teams", set_eager, METH_O, nullptr},
    {"_backward_threads", counts, METH_NOARGS, nullptr},
    {"is_multithreading_enabled", is_parallel, METH_NOARGS,
     "is_multithreading_enabled($module)\n--\n\n"
     "Return whether backward() calls of this thread may use other threads."
     "\n\nExample:\n"
     "    >>> with ebb.autograd.set_multithreading_enabled(False):\n"
     "    ...     print(ebb.autograd.is_multithreading_enabled())\n"
     "    False\n"},
    {},
};

}  // namespace

void add_engine_threads(PyObject* module) {
  main_thread = std::this_thread::get_id();
  autograd::set_interrupt_check(look_for_signals);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
