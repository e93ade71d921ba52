// python/src/parts/graph_snapshot.h -- snapshots of the backward graph, as tables for Python.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds the type _Snapshot and _take_snapshot() to `module`. Throws ErrorSet.
void add_graph_snapshot(PyObject* module);

}  // namespace ebb::python
