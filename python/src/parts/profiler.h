// python/src/parts/profiler.h -- starting and stopping a profile, and ranges of the program's own.
#pragma once

#include "ebb/core/runtime/profile.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// What _stop_profile() returned. Throws ErrorSet for another object.
const ProfileReport& report_of(PyObject* capsule);

/// Adds _start_profile(), _stop_profile(), what reads a report, _open_range() and _close_range() to
/// `module`. Throws ErrorSet.
void add_profiler(PyObject* module);

}  // namespace ebb::python
