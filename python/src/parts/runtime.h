// python/src/parts/runtime.h -- threads, memory and versions, for looking and setting.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// What an ImportError says in an interpreter other than the process's first.
inline constexpr char kNeedsMainInterpreter[] =
    "ebb: needs the main interpreter of its process, got a sub-interpreter";

/// Adds set_num_threads(), memory_stats() and the like to `module`. Throws ErrorSet.
void add_runtime(PyObject* module);

}  // namespace ebb::python
