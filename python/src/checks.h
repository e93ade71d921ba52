// python/src/checks.h -- switching anomaly mode and NaN checks.
#pragma once

#include "python/src/py.h"

namespace ebb::python {

/// Adds _set_checks() and is_anomaly_enabled() to `module`. Throws ErrorSet.
void add_checks(PyObject* module);

}  // namespace ebb::python
