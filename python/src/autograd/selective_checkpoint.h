// python/src/autograd/selective_checkpoint.h -- the compiled part of
// create_selective_checkpoint_contexts.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _selective_cache() and the functions that switch it on and off to `module`. Throws
/// ErrorSet.
void add_selective_checkpoint(PyObject* module);

}  // namespace ebb::python
