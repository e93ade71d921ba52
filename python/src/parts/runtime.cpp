// python/src/parts/runtime.cpp -- see runtime.h.
#include "python/src/parts/runtime.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/base/log.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/float_mode.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/build_info.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"

namespace ebb::python {
namespace {

PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* set_threads(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* names) {
  return guarded_as("set_num_threads", [&] {
    PyObject* const count = only_argument("set_num_threads", "num", args, given, names);
    if (!PyLong_Check(count)) {
      throw DTypeError(str("set_num_threads: needs an int, got ", type_name(count)));
    }
    set_num_threads(to_int64(count));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_flush(PyObject*, PyObject* mode) {
  const int flush = PyObject_IsTrue(mode);
  check_status(flush);
  return PyBool_FromLong(set_flush_denormal(flush != 0));
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

// --- log ---

/// Whether a logger of Python's took the line. Call with the GIL.
bool give_to_logger(LogPart part, int level, const std::string& text) {
  try {
    const Ref module(checked(PyImport_ImportModule("ebb._base.logging")));
    const Ref line(text_object(text));
    const Ref taken(checked(
        PyObject_CallMethod(module.get(), "write", "siO", name_of(part), level, line.get())));
    return taken.get() == Py_True;
  } catch (const ErrorSet&) {
    PyErr_WriteUnraisable(nullptr);
    return false;
  }
}

/// The sink: what Python's logging does not take goes to standard error. What handles a line may
/// call ops, which then log nothing.
void write_to_logging(LogPart part, int level, const std::string& text) {
  thread_local bool is_writing = false;
  if (is_writing) return;
  if (!interpreter_is_alive()) return write_log_to_stderr(part, level, text);
  const AcquireGil acquired;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  is_writing = true;
  if (!give_to_logger(part, level, text)) write_log_to_stderr(part, level, text);
  is_writing = false;
  PyErr_Restore(type, value, traceback);
}

PyObject* log_to(PyObject*, PyObject* level) {
  return guarded_as("set_log_level", [&] {
    set_log_level(static_cast<int>(to_int64(level)));
    return Py_NewRef(Py_None);
  });
}

// --- flags ---

/// (name, type, value, default, source, whether it can be set, doc) of each.
PyObject* flags(PyObject*, PyObject*) {
  const Ref result(PyList_New(0));
  for (const Flag* const one : all_flags()) {
    const std::string type(name_of(one->type)), source(source_of(*one));
    const Ref row(Py_BuildValue("(sssssNs)", one->name, type.c_str(), flag(one->name).c_str(),
                                one->fallback.c_str(), source.c_str(),
                                PyBool_FromLong(one->set != nullptr), one->doc));
    check_status(PyList_Append(result.get(), row.get()));
  }
  return Py_NewRef(result.get());
}

PyObject* set_one_flag(PyObject*, PyObject* args) {
  const char *call = nullptr, *name = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "sss", &call, &name, &value) == 0) return nullptr;
  return guarded([&] {
    set_flag(call, name, value);
    return Py_NewRef(Py_None);
  });
}

PyObject* environment_faults(PyObject*, PyObject*) {
  const Ref result(PyList_New(0));
  for (const std::string& text : faults_of_environment()) {
    const Ref line(text_object(text));
    check_status(PyList_Append(result.get(), line.get()));
  }
  return Py_NewRef(result.get());
}

PyObject* build_info(PyObject*, PyObject*) {
  const Ref result(PyDict_New());
  for (const auto& [name, text] : kernels::cpu::build_info()) {
    const Ref value(PyUnicode_FromString(text.c_str()));
    check_status(PyDict_SetItemString(result.get(), name.c_str(), value.get()));
  }
  return Py_NewRef(result.get());
}

/// The package says where it lies, so that its own frames can be told from the user's.
PyObject* set_package(PyObject*, PyObject* folder) {
  // Types, locations and the interpreter's lock are the process's; another interpreter in it
  // would share objects that Python does not let it share.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, kNeedsMainInterpreter);
    throw ErrorSet();
  }
  install_location_provider(path_of("_set_package", folder).c_str());
  return PyBool_FromLong(reads_frames_directly());
}

PyMethodDef kFunctions[] = {
    {"get_num_threads", get_threads, METH_NOARGS,
     "get_num_threads($module)\n--\n\nReturn how many threads one op may use."
     "\n\nExample:\n"
     "    >>> ebb.get_num_threads() >= 1\n"
     "    True\n"},
    {"set_num_threads", as_method(set_threads), METH_FASTCALL | METH_KEYWORDS,
     "set_num_threads($module, num)\n--\n\nSet how many threads one op may use.\n\n"
     "Results do not depend on it.\n"
     "\nExample:\n"
     "    >>> before = ebb.get_num_threads()\n"
     "    >>> ebb.set_num_threads(1)\n"
     "    >>> ebb.get_num_threads()\n"
     "    1\n"
     "    >>> ebb.set_num_threads(before)\n"},
    {"memory_stats", stats, METH_NOARGS,
     "memory_stats($module)\n--\n\nReturn live, peak and reserved bytes as a dict."
     "\n\nExample:\n"
     "    >>> before = ebb.memory_stats()[\"live\"]\n"
     "    >>> x = ebb.zeros(1024, dtype=ebb.float32)\n"
     "    >>> ebb.memory_stats()[\"live\"] - before >= 4096\n"
     "    True\n"},
    {"reset_peak_memory", reset_peak, METH_NOARGS,
     "reset_peak_memory($module)\n--\n\nLet the peak start again from what is live."
     "\n\nExample:\n"
     "    >>> ebb.reset_peak_memory()\n"
     "    >>> stats = ebb.memory_stats()\n"
     "    >>> stats[\"peak\"] == stats[\"live\"]\n"
     "    True\n"},
    {"release_cached_memory", empty_cache, METH_NOARGS,
     "release_cached_memory($module)\n--\n\nGive unused memory back to the system."
     "\n\nExample:\n"
     "    >>> x = ebb.zeros(1024)\n"
     "    >>> del x\n"
     "    >>> ebb.release_cached_memory()\n"},
    {"set_log_level", one_argument_method<log_to, "set_log_level", "level">(), kOnlyArgument,
     "set_log_level($module, level)\n--\n\nSet the level of log lines, from 0 (silent) to 9."
     "\n\nExample:\n"
     "    >>> ebb.set_log_level(0)\n"
     "    >>> ebb.flags.get(\"log\")\n"
     "    '0'\n"},
    {"_fail_allocation_after", fail_after, METH_VARARGS, nullptr},
    {"_set_flush_denormal", guarded_method<set_flush>(), METH_O, nullptr},
    {"_flags", guarded_method<flags>(), METH_NOARGS, nullptr},
    {"_set_flag", set_one_flag, METH_VARARGS, nullptr},
    {"_faults_of_environment", guarded_method<environment_faults>(), METH_NOARGS, nullptr},
    {"_build_info", guarded_method<build_info>(), METH_NOARGS, nullptr},
    {"_set_package", guarded_method<set_package>(), METH_O, nullptr},
    {},
};

}  // namespace

void add_runtime(PyObject* module) {
  set_log_sink(write_to_logging);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
