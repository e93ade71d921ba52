// python/src/parts/runtime.cpp -- see runtime.h.
#include "python/src/parts/runtime.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/log.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/build_info.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"

namespace ebb::python {
namespace {

PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* set_threads(PyObject*, PyObject* count) {
  return guarded_as("set_num_threads", [&] {
    if (!PyLong_Check(count)) {
      throw DTypeError(str("set_num_threads: needs an int, got ", type_name(count)));
    }
    set_num_threads(to_int64(count));
    return Py_NewRef(Py_None);
  });
}

PyObject* stats(PyObject*, PyObject*) {
  const MemoryStats counted = memory_stats();
  return Py_BuildValue("{sLsLsL}", "live", static_cast<long long>(counted.live), "peak",
                       static_cast<long long>(counted.peak), "reserved",
                       static_cast<long long>(counted.reserved));
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_memory();
  Py_RETURN_NONE;
}
PyObject* empty_cache(PyObject*, PyObject*) {
  release_cached_memory();
  Py_RETURN_NONE;
}

PyObject* fail_after(PyObject*, PyObject* args) {
  long long successes = 0;
  int persistent = 0;
  if (PyArg_ParseTuple(args, "L|p", &successes, &persistent) == 0) return nullptr;
  fail_allocation_after(successes, persistent != 0);
  Py_RETURN_NONE;
}

PyObject* log_to(PyObject*, PyObject* level) {
  return guarded_as("set_log_level", [&] {
    set_log_level(static_cast<int>(to_int64(level)));
    return Py_NewRef(Py_None);
  });
}

PyObject* build_info(PyObject*, PyObject*) {
  return guarded([] {
    const Ref result(PyDict_New());
    for (const auto& [name, text] : kernels::cpu::build_info()) {
      const Ref value(PyUnicode_FromString(text.c_str()));
      check_status(PyDict_SetItemString(result.get(), name.c_str(), value.get()));
    }
    return Py_NewRef(result.get());
  });
}

/// The package says where it lies, so that its own frames can be told from the user's.
PyObject* set_package(PyObject*, PyObject* folder) {
  return guarded([&] {
    // Types, locations and the interpreter's lock are the process's; another interpreter in it
    // would share objects that Python does not let it share.
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
      PyErr_SetString(PyExc_ImportError, kNeedsMainInterpreter);
      throw ErrorSet();
    }
    install_location_provider(path_of("_set_package", folder).c_str());
    return PyBool_FromLong(reads_frames_directly());
  });
}

PyMethodDef kFunctions[] = {
    {"get_num_threads", get_threads, METH_NOARGS,
     "get_num_threads($module)\n--\n\nReturn how many threads one op may use."},
    {"set_num_threads", set_threads, METH_O,
     "set_num_threads($module, count, /)\n--\n\nSet how many threads one op may use.\n\n"
     "Results do not depend on it.\n"},
    {"memory_stats", stats, METH_NOARGS,
     "memory_stats($module)\n--\n\nReturn live, peak and reserved bytes as a dict."},
    {"reset_peak_memory", reset_peak, METH_NOARGS,
     "reset_peak_memory($module)\n--\n\nLet the peak start again from what is live."},
    {"release_cached_memory", empty_cache, METH_NOARGS,
     "release_cached_memory($module)\n--\n\nGive unused memory back to the system."},
    {"set_log_level", log_to, METH_O,
     "set_log_level($module, level, /)\n--\n\nSet the level of log lines, from 0 (silent) to 9."},
    {"_fail_allocation_after", fail_after, METH_VARARGS, nullptr},
    {"_build_info", build_info, METH_NOARGS, nullptr},
    {"_set_package", set_package, METH_O, nullptr},
    {},
};

}  // namespace

void add_runtime(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
