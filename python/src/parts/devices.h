// python/src/parts/devices.h -- devices, streams and events for ebb/_devices.py; warnings from C++.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the functions to `module`, and makes ebb::warn() a UserWarning. Throws ErrorSet.
void add_devices(PyObject* module);

}  // namespace ebb::python
