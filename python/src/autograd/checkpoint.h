// python/src/autograd/checkpoint.h -- the compiled part of ebb.utils.checkpoint.
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Adds _checkpoint() and the exception that ends a recomputation to `module`. Throws ErrorSet.
void add_checkpoint(PyObject* module);

/// Sets the exception that stands for autograd::StopRecomputation while it passes through Python.
void set_stop_recomputation() noexcept;

}  // namespace ebb::python
