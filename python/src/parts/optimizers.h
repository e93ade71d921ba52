// python/src/parts/optimizers.h -- the optimizers' steps, for python/ebb/optim.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds private functions that make optimizers, run their steps and show their state to `module`.
/// Throws ErrorSet.
void add_optimizers(PyObject* module);

}  // namespace ebb::python
