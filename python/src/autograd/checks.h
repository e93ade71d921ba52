// python/src/autograd/checks.h -- switching anomaly mode and NaN checks.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _set_checks() and is_anomaly_enabled() to `module`. Throws ErrorSet.
void add_checks(PyObject* module);

}  // namespace ebb::python
