// python/src/autograd/checks.cpp -- the modes of ebb/autograd/watch/checks.h and cut_trace.h, for
// ebb/autograd/anomaly.py.
#include "python/src/autograd/checks.h"

#include "ebb/autograd/watch/checks.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::python {
namespace {

constexpr uint32_t kBits[] = {gate::kNanCheck, gate::kGradCheck,   gate::kAllowInf,
                              gate::kAnomaly,  gate::kRetainGrads, gate::kCutTrace};

/// _set_checks(results, gradients, nan_only, stacks, retain, cuts): one truth value or None (as it
/// is) each. Returns what was set before, as a tuple to be given back.
PyObject* set_checks(PyObject*, PyObject* args) {
  PyObject* wanted[std::size(kBits)];
  if (PyArg_ParseTuple(args, "OOOOOO", &wanted[0], &wanted[1], &wanted[2], &wanted[3], &wanted[4],
                       &wanted[5]) == 0) {
    return nullptr;
  }
  uint32_t modes = thread_state.modes;
  const uint32_t before = modes;
  for (size_t i = 0; i < std::size(kBits); ++i) {
    if (wanted[i] == Py_None) continue;
    const int truth = PyObject_IsTrue(wanted[i]);
    if (truth < 0) return nullptr;
    modes = truth != 0 ? modes | kBits[i] : modes & ~kBits[i];
  }
  const auto flag = [&](size_t i) { return (before & kBits[i]) != 0 ? Py_True : Py_False; };
  PyObject* const old = PyTuple_Pack(6, flag(0), flag(1), flag(2), flag(3), flag(4), flag(5));
  if (old != nullptr) thread_state.modes = modes;
  return old;
}

PyObject* query_anomaly(PyObject*, PyObject*) { return PyBool_FromLong(is_anomaly_enabled()); }

PyMethodDef kFunctions[] = {
    {"_set_checks", set_checks, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", query_anomaly, METH_NOARGS,
     "is_anomaly_enabled($module)\n--\n\nReturn whether this thread is in anomaly mode."
     "\n\nExample:\n"
     "    >>> with ebb.autograd.detect_anomaly():\n"
     "    ...     print(ebb.is_anomaly_enabled())\n"
     "    True\n"},
    {},
};

}  // namespace

void add_checks(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
